"""Workspaces, people and memberships."""

from __future__ import annotations

import pytest
from django.core.exceptions import ValidationError

from accounts.changes import OutsideTransaction, record_audit, record_change
from accounts.ledger import grant
from accounts.models import (
    AuditEvent,
    ConfigChange,
    LedgerEntry,
    Membership,
    Role,
    Wallet,
    Workspace,
)
from accounts.services import (
    add_member,
    change_role,
    create_user,
    create_workspace,
    lock_workspace,
    rename_workspace,
    set_password,
    set_stores_bodies,
    unlock_workspace,
)
from tests.factories import ACTOR, PASSWORD, make_user, make_workspace

pytestmark = pytest.mark.django_db


def changes() -> list[tuple[str, str]]:
    return list(ConfigChange.objects.order_by("id").values_list("kind", "ref"))


def audits() -> list[str]:
    return list(AuditEvent.objects.order_by("id").values_list("action", flat=True))


def test_workspace_starts_with_a_wallet_an_owner_and_its_first_credit() -> None:
    owner = make_user()

    workspace = create_workspace(name=" Acme ", credit_nusd=5, owner=owner, actor=ACTOR)

    entry = LedgerEntry.objects.get()
    assert (workspace.name, workspace.slug) == ("Acme", "acme")
    assert Wallet.objects.get(workspace=workspace).posted_nusd == 5
    assert (entry.kind, entry.amount_nusd, entry.actor) == ("grant", 5, ACTOR)
    assert Membership.objects.get(workspace=workspace).role == Role.OWNER


def test_workspace_without_credit_has_an_empty_wallet_and_no_entry() -> None:
    workspace = make_workspace()

    assert Wallet.objects.get(workspace=workspace).posted_nusd == 0
    assert not LedgerEntry.objects.exists()


@pytest.mark.parametrize(
    ("name", "slugs"),
    [
        ("Acme Ltd", ["acme-ltd", "acme-ltd-2", "acme-ltd-3"]),
        ("日本", ["workspace", "workspace-2", "workspace-3"]),
        ("x" * 80, ["x" * 70, "x" * 70 + "-2", "x" * 70 + "-3"]),
    ],
)
def test_names_may_repeat_and_slugs_never_do(name: str, slugs: list[str]) -> None:
    made = [make_workspace(name).slug for _ in slugs]

    assert made == slugs


@pytest.mark.parametrize(
    "name", ["", "   ", "x" * 81, "two\nlines", "nul\x00", "turned\u202eback", "lone\ud800"]
)
def test_a_name_that_is_not_one_visible_line_is_refused(name: str) -> None:
    with pytest.raises(ValidationError) as refusal:
        make_workspace(name)

    assert set(refusal.value.message_dict) == {"name"}


@pytest.mark.parametrize("credit_nusd", [-1, 2**63])
def test_a_first_credit_that_no_wallet_can_hold_is_refused(credit_nusd: int) -> None:
    with pytest.raises(ValidationError) as refusal:
        make_workspace(credit_nusd=credit_nusd)

    assert set(refusal.value.message_dict) == {"credit"}


def test_a_workspace_whose_credit_cannot_be_posted_is_not_created_at_all() -> None:
    with pytest.raises(ValueError, match="needs an actor"):
        create_workspace(name="Acme", credit_nusd=5, actor=" ")

    assert not Workspace.objects.exists()
    assert not Wallet.objects.exists()
    assert not AuditEvent.objects.exists()


def test_locking_is_told_once_and_unlocking_too() -> None:
    workspace = make_workspace()

    answers = [
        lock_workspace(workspace, reason="unpaid", actor=ACTOR),
        lock_workspace(workspace, reason="again", actor=ACTOR),
        unlock_workspace(workspace, actor=ACTOR),
        unlock_workspace(workspace, actor=ACTOR),
    ]

    assert answers == [True, False, True, False]
    assert changes() == [("workspace", workspace.pk.hex)] * 2
    assert audits() == ["workspace.create", "workspace.lock", "workspace.unlock"]


def test_a_locked_workspace_keeps_the_reason_it_was_locked_for() -> None:
    workspace = make_workspace()

    lock_workspace(workspace, reason="unpaid", actor=ACTOR)
    lock_workspace(workspace, reason="another", actor=ACTOR)

    assert workspace.locked_at is not None
    assert workspace.locked_reason == "unpaid"


def test_storing_bodies_is_off_until_somebody_turns_it_on() -> None:
    workspace = make_workspace()

    was_off = not workspace.stores_bodies
    answers = [set_stores_bodies(workspace, stores_bodies=True, actor=ACTOR) for _ in range(2)]

    assert was_off
    assert answers == [True, False]
    assert workspace.stores_bodies
    assert changes() == [("workspace", workspace.pk.hex)]


def test_renaming_keeps_the_slug_that_people_have_written_down() -> None:
    workspace = make_workspace("Acme")

    answers = [rename_workspace(workspace, name=" New ", actor=ACTOR) for _ in range(2)]

    assert answers == [True, False]
    assert (workspace.name, workspace.slug) == ("New", "acme")
    assert AuditEvent.objects.get(action="workspace.rename").details == {"name": ["Acme", "New"]}


def test_a_new_password_ends_the_old_one_and_stands_in_no_log() -> None:
    user = make_user()

    set_password(user, password="another long phrase 28", actor=ACTOR)

    user.refresh_from_db()
    assert user.check_password("another long phrase 28")
    assert not user.check_password(PASSWORD)
    assert "another long phrase" not in repr(list(AuditEvent.objects.values()))


def test_a_person_is_a_member_once() -> None:
    workspace, user = make_workspace(), make_user()
    add_member(workspace, user=user, role=Role.VIEWER, actor=ACTOR)

    with pytest.raises(ValidationError) as refusal:
        add_member(workspace, user=user, role=Role.OWNER, actor=ACTOR)

    assert set(refusal.value.message_dict) == {"user"}
    assert Membership.objects.get().role == Role.VIEWER


def test_the_last_owner_cannot_step_down() -> None:
    workspace = make_workspace()
    first = add_member(workspace, user=make_user(), role=Role.OWNER, actor=ACTOR)
    second = add_member(workspace, user=make_user(), role=Role.OWNER, actor=ACTOR)

    stepped_down = change_role(first, role=Role.VIEWER, actor=ACTOR)
    with pytest.raises(ValidationError) as refusal:
        change_role(second, role=Role.VIEWER, actor=ACTOR)

    assert stepped_down
    assert set(refusal.value.message_dict) == {"role"}
    assert Membership.objects.get(role=Role.OWNER) == second


def test_a_change_of_role_is_written_down_with_before_and_after() -> None:
    member = add_member(make_workspace(), user=make_user(), role=Role.VIEWER, actor=ACTOR)

    answers = [change_role(member, role=Role.ADMIN, actor="boss@example.com") for _ in range(2)]

    event = AuditEvent.objects.get(action="member.change_role")
    assert answers == [True, False]
    assert (event.actor, event.details) == ("boss@example.com", {"role": ["viewer", "admin"]})


@pytest.mark.parametrize("role", ["", "root", "OWNER"])
def test_an_unknown_role_is_refused(role: str) -> None:
    with pytest.raises(ValidationError) as refusal:
        add_member(make_workspace(), user=make_user(), role=role, actor=ACTOR)

    assert set(refusal.value.message_dict) == {"role"}


def test_an_address_makes_one_account_however_it_is_written() -> None:
    create_user(email="Ann@Example.com", actor=ACTOR)

    with pytest.raises(ValidationError) as refusal:
        create_user(email=" ann@example.COM ", actor=ACTOR)

    assert set(refusal.value.message_dict) == {"email"}


def test_a_person_without_a_password_cannot_sign_in_with_any() -> None:
    user = create_user(email="ann@example.com", actor=ACTOR)

    assert not user.has_usable_password()
    assert not user.check_password("")


def test_lines_of_change_are_refused_outside_the_transaction_of_the_change(
    transactional_db: None,
) -> None:
    with pytest.raises(OutsideTransaction):
        record_change(ConfigChange.Kind.CATALOGUE)
    with pytest.raises(OutsideTransaction):
        record_audit(actor=ACTOR, action="x", target="y")


def test_a_grant_tells_the_serving_processes_and_the_audit() -> None:
    workspace = make_workspace()

    grant(workspace, amount_nusd=7, actor="boss@example.com", reason="gift")

    assert changes() == [("wallet", workspace.pk.hex)]
    assert AuditEvent.objects.filter(actor="boss@example.com", workspace=workspace).count() == 1
