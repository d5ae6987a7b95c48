"""The ledger itself: what it posts, what it refuses, and that a refusal leaves no trace."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone

from accounts import ledger
from accounts.ledger import Spend
from accounts.models import AuditEvent, ConfigChange, LedgerEntry, Purse, Wallet, Workspace
from tests.money.office import make_rich

pytestmark = pytest.mark.django_db

GRANT = LedgerEntry.Kind.GRANT
PROCESS, OTHER = uuid.UUID(int=1), uuid.UUID(int=2)
KEYS = [uuid.UUID(int=11), uuid.UUID(int=12)]


def post(workspace: Workspace, amount: int, source: str) -> LedgerEntry:
    return ledger.post(
        workspace.pk, kind=GRANT, amount_nusd=amount, source=source, at=timezone.now()
    )


def amounts(workspace: Workspace) -> tuple[int, int, int]:
    wallet = Wallet.objects.get(pk=workspace.pk)
    return wallet.posted_nusd, wallet.drawn_nusd, wallet.sequence


def test_grant_is_an_entry_a_change_and_an_audit_event() -> None:
    workspace = make_rich(0)

    entry = ledger.grant(workspace, amount_nusd=250, actor="ann@example.com", reason="Launch")

    assert (entry.sequence, entry.amount_nusd, entry.balance_nusd) == (1, 250, 250)
    assert ConfigChange.objects.get().ref == workspace.pk.hex
    details = AuditEvent.objects.get().details
    assert (details["before_nusd"], details["after_nusd"]) == (0, 250)


@pytest.mark.parametrize("wrong", [{"amount_nusd": 0}, {"actor": " "}, {"reason": ""}])
def test_grant_of_nothing_or_by_nobody_is_refused(wrong: dict[str, Any]) -> None:
    workspace = make_rich(0)

    right: dict[str, Any] = {"amount_nusd": 1, "actor": "a", "reason": "r"}

    with pytest.raises(ValueError, match=r"\."):
        ledger.grant(workspace, **(right | wrong))
    assert not LedgerEntry.objects.exists()


def test_same_source_posts_once_and_another_amount_under_it_is_an_error() -> None:
    workspace = make_rich(0)

    assert post(workspace, 100, "topup:1").pk == post(workspace, 100, "topup:1").pk
    with pytest.raises(ledger.SourceReused):
        post(workspace, 101, "topup:1")
    with pytest.raises(ledger.SourceReused):
        post(make_rich(0), 100, "topup:1")

    assert amounts(workspace) == (100, 0, 1)


def test_money_that_processes_have_drawn_cannot_be_taken() -> None:
    workspace = make_rich(100)
    ledger.draw(workspace.pk, PROCESS, want_nusd=60, least_nusd=60)

    with pytest.raises(ledger.InsufficientBalance):
        post(workspace, -41, "adjustment:1")

    assert amounts(workspace) == (100, 60, 1)
    post(workspace, -40, "adjustment:2")
    assert amounts(workspace) == (60, 60, 2)


def test_wallet_never_grows_beyond_64_bits() -> None:
    workspace = make_rich(10)

    with pytest.raises(ledger.InsufficientBalance):
        post(workspace, ledger.MAX_NUSD - 9, "topup:huge")

    assert amounts(workspace) == (10, 0, 1)


def test_posting_without_a_wallet_is_refused() -> None:
    with pytest.raises(ledger.NoWallet):
        post(Workspace.objects.create(name="W", slug="w"), 1, "topup:1")


@pytest.mark.parametrize(
    ("want", "least", "drawn"),
    [(50, 1, 50), (100, 100, 100), (500, 1, 100), (500, 101, 0), (0, 0, 0)],
)
def test_draw_takes_between_least_and_want_or_nothing(want: int, least: int, drawn: int) -> None:
    workspace = make_rich(100)

    assert ledger.draw(workspace.pk, PROCESS, want_nusd=want, least_nusd=least) == drawn
    assert amounts(workspace)[1] == drawn
    assert ledger.purse_amounts(PROCESS, [workspace.pk]) == {workspace.pk: drawn}


def test_purse_gives_back_no_more_than_it_holds() -> None:
    workspace = make_rich(100)
    ledger.draw(workspace.pk, PROCESS, want_nusd=70, least_nusd=1)
    ledger.give_back(workspace.pk, PROCESS, 30)

    with pytest.raises(ledger.PurseOverdrawn), transaction.atomic():
        ledger.give_back(workspace.pk, PROCESS, 41)

    assert amounts(workspace) == (100, 40, 1)


def test_usage_of_two_keys_is_two_numbered_entries_with_running_balances() -> None:
    workspace = make_rich(100)
    ledger.draw(workspace.pk, PROCESS, want_nusd=70, least_nusd=1)
    spends = [Spend(workspace.pk, KEYS[1], 20, 2), Spend(workspace.pk, KEYS[0], 10, 1)]

    ledger.post_usage(PROCESS, spends, source="drain:x", at=timezone.now())

    entries = LedgerEntry.objects.filter(kind="usage").order_by("sequence")
    told = entries.values_list("sequence", "key_id", "amount_nusd", "balance_nusd", "calls")
    assert list(told) == [(2, KEYS[0], -10, 90, 1), (3, KEYS[1], -20, 70, 2)]
    assert amounts(workspace) == (70, 40, 3)


def test_spending_more_than_the_purse_holds_posts_nothing() -> None:
    workspace = make_rich(100)
    ledger.draw(workspace.pk, PROCESS, want_nusd=20, least_nusd=1)
    ledger.draw(workspace.pk, OTHER, want_nusd=50, least_nusd=1)

    spends = [Spend(workspace.pk, KEYS[0], 21, 1)]

    with pytest.raises(ledger.PurseOverdrawn), transaction.atomic():
        ledger.post_usage(PROCESS, spends, source="drain:x", at=timezone.now())

    assert amounts(workspace) == (100, 70, 1)


def test_closing_a_process_returns_its_purses_and_nobody_elses() -> None:
    workspace = make_rich(100)
    ledger.draw(workspace.pk, PROCESS, want_nusd=20, least_nusd=1)
    ledger.draw(workspace.pk, OTHER, want_nusd=50, least_nusd=1)

    assert ledger.close_purses(PROCESS) == 20
    assert ledger.close_purses(PROCESS) == 0
    assert amounts(workspace) == (100, 50, 1)
    assert Purse.objects.get().process_id == OTHER
