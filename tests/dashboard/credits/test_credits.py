"""Credits: what there is to the nano-dollar, and a grant that is posted once."""

from __future__ import annotations

import uuid
from collections import Counter
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.ledger_days import add_up_ledger
from accounts.ledger_selectors import find_balance
from accounts.models import AuditEvent, LedgerEntry, Role, Workspace
from dashboard.forms.usd_field import read_typed_usd
from gateway.models import LedgerCheck
from gateway.selectors.money import held_nusd
from tests.dashboard.demo_data import make_demo_data
from tests.dashboard.visitors import signed_in
from tests.factories import make_member, make_user, make_workspace

pytestmark = pytest.mark.django_db
URL = "/credits"
GRANT_URL = "/credits/grant"


@pytest.fixture
def workspace() -> Workspace:
    workspace = make_workspace("Northwind")
    make_demo_data(workspace, days=2, calls_per_day=60)
    return workspace


@pytest.fixture
def operator(workspace: Workspace) -> Client:
    return signed_in(make_user(is_operator=True))


def as_somebody(workspace: Workspace, role: str) -> Client:
    return signed_in(make_member(workspace, role))


def form(**changes: str) -> dict[str, str]:
    return {"amount": "12.50", "reason": "A good cause", "token": str(uuid.uuid4())} | changes


@pytest.mark.parametrize("role", [Role.OWNER, Role.ADMIN, Role.BILLING])
def test_who_may_see_credits_sees_them_and_no_way_to_grant(workspace: Workspace, role: str) -> None:
    page = as_somebody(workspace, role).get(URL)

    balance, held = find_balance(workspace.id), held_nusd(workspace.id)
    assert page.status_code == 200
    assert page.context["available_nusd"] == balance.posted_nusd - held
    assert held > 0
    assert GRANT_URL.encode() not in page.content
    assert b"style=" not in page.content


@pytest.mark.parametrize("role", [Role.DEVELOPER, Role.VIEWER])
def test_other_roles_are_refused(workspace: Workspace, role: str) -> None:
    assert as_somebody(workspace, role).get(URL).status_code == 403


def test_who_is_signed_out_is_sent_to_sign_in() -> None:
    for url in (URL, GRANT_URL):
        page = Client().get(url)

        assert page.status_code == 302
        assert page["Location"].startswith(reverse("account_login"))


@pytest.mark.parametrize("role", [Role.OWNER, Role.ADMIN, Role.BILLING, Role.DEVELOPER])
def test_only_operators_grant(workspace: Workspace, role: str) -> None:
    client, before = as_somebody(workspace, role), find_balance(workspace.id)

    answers = client.get(GRANT_URL), client.post(GRANT_URL, form())

    assert [answer.status_code for answer in answers] == [403, 403]
    assert find_balance(workspace.id) == before


def test_every_amount_is_exact_and_every_entry_has_its_balance(operator: Client) -> None:
    page = operator.get(URL, {"show": "entries"})

    newest = LedgerEntry.objects.latest("sequence")
    whole, rest = divmod(newest.balance_nusd, 10**9)
    assert f"${whole:,}.{rest:09d}" in page.content.decode()
    assert [row.entry.sequence for row in page.context["table"].items] == sorted(
        LedgerEntry.objects.values_list("sequence", flat=True), reverse=True
    )[:50]


@pytest.mark.parametrize("is_added_up", [False, True])
def test_the_ledger_has_one_line_a_day_and_key_that_leads_to_its_entries(
    operator: Client, workspace: Workspace, is_added_up: bool
) -> None:
    if is_added_up:
        add_up_ledger()
    usage = LedgerEntry.objects.filter(kind="usage")
    expected = Counter[tuple[Any, Any]]()
    for entry in usage:
        expected[entry.created_at.date(), entry.key_id] += entry.amount_nusd

    page = operator.get(URL)
    rows = page.context["table"].items
    lines = {
        (row.line.day, row.line.key_id): row.line.amount_nusd for row in rows if row.line.key_id
    }
    behind = {
        (row.line.day, row.line.key_id): operator.get(row.entries_url).context["table"].items
        for row in rows
        if row.entries_url
    }

    assert lines == dict(expected)
    assert {
        place: sum(row.entry.amount_nusd for row in entries) for place, entries in behind.items()
    } == lines
    assert (
        page.context["table"].groups[0].heading.balance_nusd
        == find_balance(workspace.id).posted_nusd
    )
    assert {row.kind for row in rows if not row.line.key_id} == {"Grant"}


def test_a_day_of_the_ledger_leads_to_its_calls(operator: Client) -> None:
    row = next(row for row in operator.get(URL).context["table"].items if row.calls_url)

    calls = operator.get(row.calls_url)

    assert calls.status_code == 200
    assert {each.call.key_id for each in calls.context["table"].items} == {row.line.key_id}


def test_movements_without_usage_can_be_shown_alone(operator: Client) -> None:
    page = operator.get(URL, {"show": "movements"})

    assert {row.entry.kind for row in page.context["table"].items} == {"grant"}


@pytest.mark.parametrize("query", ["before=0", f"after={2**63 - 1}", "before=", "show=x"])
def test_a_url_edited_by_hand_still_gives_a_page(operator: Client, query: str) -> None:
    assert operator.get(f"{URL}?{query}").status_code == 200


def test_a_grant_is_posted_with_its_actor_and_reason(
    operator: Client, workspace: Workspace
) -> None:
    before = find_balance(workspace.id)

    answer = operator.post(GRANT_URL, form())

    entry = LedgerEntry.objects.latest("sequence")
    assert (answer.status_code, answer["Location"]) == (302, f"/w/northwind{URL}")
    assert (entry.kind, entry.amount_nusd, entry.reason) == (
        "grant",
        12_500_000_000,
        "A good cause",
    )
    assert entry.actor.endswith("@example.com")
    assert find_balance(workspace.id).posted_nusd == before.posted_nusd + 12_500_000_000


def test_a_form_sent_twice_is_posted_once(operator: Client, workspace: Workspace) -> None:
    filled, before = form(), find_balance(workspace.id)
    audits = AuditEvent.objects.count()

    for _ in range(2):
        answer = operator.post(GRANT_URL, filled, headers={"HX-Request": "true"})

        assert (answer.status_code, answer["HX-Redirect"]) == (204, f"/w/northwind{URL}")

    assert find_balance(workspace.id).entries == before.entries + 1
    assert AuditEvent.objects.count() == audits + 1


@pytest.mark.parametrize(
    ("typed", "nusd"),
    [
        ("$12.50", 12_500_000_000),
        ("1,000.50", 1_000_500_000_000),
        ("-2,000.25", -2_000_250_000_000),
    ],
)
def test_an_amount_is_read_as_people_write_it(typed: str, nusd: int) -> None:
    assert read_typed_usd(typed) == nusd


def test_a_form_sent_again_with_another_amount_is_refused(
    operator: Client, workspace: Workspace
) -> None:
    filled = form()
    operator.post(GRANT_URL, filled)
    before = find_balance(workspace.id)

    answer = operator.post(GRANT_URL, filled | {"amount": "99"})

    assert answer.status_code == 422
    assert b"Open the form again" in answer.content
    assert find_balance(workspace.id) == before


@pytest.mark.parametrize(
    "changes",
    [
        {"amount": ""},
        {"amount": "0"},
        {"amount": "ten"},
        {"amount": "1e9"},
        {"amount": "NaN"},
        {"amount": "1,50"},
        {"amount": "1,000"},
        {"amount": "10,00.50"},
        {"amount": "0.0000000001"},
        {"amount": "99999999999999999999"},
        {"amount": "9223372036"},
        {"amount": "-100000"},
        {"reason": "   "},
        {"reason": "Turned \u202e round"},
        {"token": "nonsense"},
    ],
)
def test_what_cannot_be_posted_is_said_beside_the_form(
    operator: Client, workspace: Workspace, changes: dict[str, str]
) -> None:
    before = find_balance(workspace.id)

    answer = operator.post(GRANT_URL, form(**changes), headers={"HX-Request": "true"})

    assert answer.status_code == 422
    assert b"field-error" in answer.content or b"notice-bad" in answer.content
    assert find_balance(workspace.id) == before


def test_credit_taken_away_is_an_adjustment(operator: Client) -> None:
    operator.post(GRANT_URL, form(amount="-2.5"))

    entry = LedgerEntry.objects.latest("sequence")
    assert (entry.kind, entry.amount_nusd) == ("adjustment", -2_500_000_000)


def test_the_page_says_when_the_ledger_was_verified(operator: Client) -> None:
    never = operator.get(URL)
    check = {"checked_at": timezone.now(), "duration_ms": 4, "entries": 3, "calls": 9}
    LedgerCheck.objects.create(**check)
    good = operator.get(URL)
    LedgerCheck.objects.create(**check, breaks=[{"invariant": "I1"}])
    bad = operator.get(URL)
    LedgerCheck.objects.create(**check, since=timezone.now())
    recent = operator.get(URL)

    assert b"Ledger not verified yet" in never.content
    assert b"Ledger verified" in good.content
    assert b", in full" not in good.content
    assert b"1 check failed," in bad.content
    assert b", in full" in recent.content
