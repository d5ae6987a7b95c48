"""Importing keys: all or none, nothing said of other workspaces, and who may."""

from __future__ import annotations

from typing import Any

import pytest

from accounts.models import AuditEvent, ConfigChange, Role, Workspace
from accounts.permissions import NotAllowed
from keys.import_rows import ImportRow, read_rows
from keys.importing import (
    ELSEWHERE,
    NOT_BY_DIGEST,
    REVOKED,
    ImportRefused,
    confirm_preview,
    find_preview,
    import_keys,
    keep_preview,
    plan_import,
)
from keys.models import ApiKey, KeyImport
from keys.secret import digest_secret
from keys.selectors import get_key
from keys.services import revoke_key
from tests.factories import ACTOR, make_key, make_member, make_user, make_workspace

pytestmark = pytest.mark.django_db

ONE = "sk-proj-9fJ2kQ7vTz1xWm4bRc8nLd5y"
TWO = "rpk_b81c04d7e95f2a6c3d80e1f7a4b92c65"


@pytest.fixture
def workspace() -> Workspace:
    return make_workspace()


def rows_of(*secrets: str, **columns: str) -> list[ImportRow]:
    header = ",".join(["secret", *columns])
    lines = [",".join([secret, *columns.values()]) for secret in secrets]
    rows, problems = read_rows("\n".join([header, *lines]).encode())
    assert problems == []
    return rows


def digest_row(secret: str) -> list[ImportRow]:
    return read_rows(f"sha256\n{digest_secret(secret)}\n".encode())[0]


def test_imported_keys_have_their_rules_owner_and_trace(workspace: Workspace) -> None:
    member = make_member(workspace, Role.DEVELOPER)

    keys = import_keys(
        workspace,
        rows_of(ONE, TWO, member=member.email.upper(), daily_usd="3", profile="bud"),
        actor=ACTOR,
    )

    stored = ApiKey.objects.get(digest=digest_secret(ONE))
    assert {key.pk for key in keys} == set(ApiKey.objects.values_list("pk", flat=True))
    assert (stored.created_by, stored.daily_limit_nusd) == (member, 3_000_000_000)
    assert (stored.compat_profile, stored.is_imported) == ("bud", True)
    assert str(stored).endswith("(sk-proj-…Ld5y)")
    assert get_key(ONE) == stored
    assert ConfigChange.objects.filter(kind="key", ref=stored.digest).count() == 1
    event = AuditEvent.objects.get(target=str(stored.pk))
    assert (event.action, event.details["by"]) == ("key.import", "secret")
    assert ONE not in str(list(AuditEvent.objects.values()))


def test_what_is_here_already_stays_and_the_rest_is_imported(workspace: Workspace) -> None:
    first = import_keys(workspace, rows_of(ONE, name="First"), actor=ACTOR)

    again = import_keys(workspace, rows_of(ONE, TWO, name="Again"), actor=ACTOR)

    assert [key.digest for key in again] == [digest_secret(TWO)]
    assert ApiKey.objects.get(pk=first[0].pk).label == "First"


@pytest.mark.parametrize("is_revoked", [False, True])
def test_a_key_of_another_workspace_is_refused_without_saying_whose(
    workspace: Workspace, is_revoked: bool
) -> None:
    [theirs] = import_keys(make_workspace("Secret Industries"), rows_of(ONE), actor=ACTOR)
    if is_revoked:
        revoke_key(theirs, actor=ACTOR)

    with pytest.raises(ImportRefused) as refused:
        import_keys(workspace, rows_of(TWO, ONE), actor=ACTOR)

    assert [(p.line, p.words) for p in refused.value.problems] == [(3, ELSEWHERE)]
    assert not ApiKey.objects.filter(workspace=workspace).exists()


def test_a_key_that_was_revoked_here_stays_so(workspace: Workspace) -> None:
    [key] = import_keys(workspace, rows_of(ONE), actor=ACTOR)
    revoke_key(key, actor=ACTOR)

    plan = plan_import(workspace, rows_of(ONE), person=None)

    assert [problem.words for problem in plan.problems] == [REVOKED]


def test_an_owner_must_be_a_member(workspace: Workspace) -> None:
    stranger = make_member(make_workspace("Elsewhere"))

    plan = plan_import(workspace, rows_of(ONE, member=stranger.email), person=None)

    assert [problem.column for problem in plan.problems] == ["member"]


@pytest.mark.parametrize("role", Role.values)
def test_owners_and_admins_import_what_they_may_give(workspace: Workspace, role: str) -> None:
    person = make_member(workspace, role)

    def plan(rows: list[ImportRow]) -> Any:
        return plan_import(workspace, rows, person=person)

    if role not in (Role.OWNER, Role.ADMIN):
        with pytest.raises(NotAllowed):
            plan(rows_of(ONE))
        return
    assert plan(rows_of(ONE, scopes="usage.workspace;admin")).problems == []
    assert [p.words for p in plan(digest_row(ONE)).problems] == [NOT_BY_DIGEST]


def test_a_digest_says_nothing_to_who_may_not_import_it(workspace: Workspace) -> None:
    """Else a list of digests would tell which of them are keys here."""
    known = make_key(make_workspace("Elsewhere")).secret
    person = make_member(workspace, Role.OWNER)

    said = [
        plan_import(workspace, digest_row(secret), person=person).problems
        for secret in (known, "unknown")
    ]

    assert said[0] == said[1]


def test_operators_import_digests(workspace: Workspace) -> None:
    operator = make_user(is_operator=True)

    [key] = import_keys(workspace, digest_row(ONE), actor=operator.email, person=operator)

    assert key.digest == digest_secret(ONE)
    assert key.shown_secret == f"SHA-256 {digest_secret(ONE)[:8]}…"


def test_a_preview_is_confirmed_once_by_who_saw_it_and_holds_no_secret(
    workspace: Workspace,
) -> None:
    person, other = make_member(workspace), make_member(workspace)
    preview = keep_preview(workspace, rows_of(ONE, TWO), person=person)
    stored = str(list(KeyImport.objects.values()))

    confirmed = confirm_preview(preview, person=person)
    again = confirm_preview(preview, person=person)

    assert find_preview(workspace, preview.pk, person=other) is None
    assert find_preview(make_workspace("Elsewhere"), preview.pk, person=person) is None
    assert confirmed is not None
    assert (len(confirmed), again) == (2, None)
    assert ONE not in stored
    assert KeyImport.objects.get().rows == []


def test_a_preview_that_is_true_no_more_imports_nothing(workspace: Workspace) -> None:
    person = make_member(workspace)
    preview = keep_preview(workspace, rows_of(TWO, ONE), person=person)
    import_keys(make_workspace("Faster"), rows_of(ONE), actor=ACTOR)

    with pytest.raises(ImportRefused):
        confirm_preview(preview, person=person)

    assert not ApiKey.objects.filter(workspace=workspace).exists()
    assert KeyImport.objects.get().confirmed_at is None
