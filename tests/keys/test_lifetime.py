"""The maximum lifetime of a workspace's keys."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.utils import timezone

from accounts.models import AuditEvent, Workspace
from keys.access import set_access_rules
from keys.import_rows import ImportRow
from keys.importing import plan_import
from keys.models import ApiKey
from keys.rotation import rotate_key
from keys.rules import KeyRules, read_rules
from keys.secret import keep_secret, new_secret
from keys.services import update_key
from tests.factories import ACTOR, make_key, make_workspace

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)


@pytest.fixture
def workspace() -> Workspace:
    made = make_workspace()
    set_access_rules(made, max_key_days=30, actor=ACTOR)
    return made


def move(key: ApiKey, expires_at: datetime | None) -> bool:
    rules: dict[str, Any] = {name: getattr(key, name) for name in KeyRules.__annotations__}
    return update_key(key, actor=ACTOR, **(rules | {"expires_at": expires_at}))


def test_a_new_key_expires_within_the_maximum(workspace: Workspace) -> None:
    for expires_at in (None, timezone.now() + 31 * DAY):
        with pytest.raises(ValidationError, match="within 30 days") as refusal:
            make_key(workspace, expires_at=expires_at)
        assert set(refusal.value.message_dict) == {"expires_at"}

    assert make_key(workspace, expires_at=timezone.now() + 30 * DAY).key.is_usable


def test_keys_that_would_live_longer_are_capped_from_now() -> None:
    workspace, later = make_workspace(), timezone.now() + 100 * DAY
    endless, long = make_key(workspace).key, make_key(workspace, expires_at=later).key
    short = make_key(workspace, expires_at=timezone.now() + DAY).key
    other = make_key(make_workspace()).key

    set_access_rules(workspace, max_key_days=10, actor=ACTOR)

    expiries = dict(ApiKey.objects.values_list("pk", "expires_at"))
    latest = timezone.now() + 10 * DAY
    for key in (endless, long):
        capped = expiries[key.pk]
        assert capped is not None
        assert latest - DAY < capped <= latest
    assert expiries[short.pk] == short.expires_at
    assert expiries[other.pk] is None
    event = AuditEvent.objects.get(action="workspace.set_access_rules")
    assert event.details == {"max_key_days": [None, 10], "capped_keys": 2}


def test_an_expiry_moves_to_the_maximum_after_the_secret_was_made(workspace: Workspace) -> None:
    key = make_key(workspace, expires_at=timezone.now() + DAY).key
    ApiKey.objects.filter(pk=key.pk).update(created_at=timezone.now() - 20 * DAY)
    key.refresh_from_db()

    for beyond in (timezone.now() + 11 * DAY, None):
        with pytest.raises(ValidationError, match="within 30 days"):
            move(key, beyond)
    assert move(key, timezone.now() + 9 * DAY)

    rotate_key(key, overlap=DAY, actor=ACTOR)
    assert move(key, timezone.now() + 29 * DAY)


def test_an_earlier_expiry_is_always_taken(workspace: Workspace) -> None:
    key = make_key(workspace, expires_at=timezone.now() + 30 * DAY).key
    set_access_rules(workspace, max_key_days=1, actor=ACTOR)
    ApiKey.objects.filter(pk=key.pk).update(created_at=timezone.now() - 20 * DAY)
    key.refresh_from_db()

    assert move(key, timezone.now() + DAY / 2)


def test_an_import_says_which_rows_live_too_long(workspace: Workspace) -> None:
    rules = read_rules(
        label="Imported",
        scopes=["completions"],
        allowed_models=[],
        allowed_ips=None,
        expires_at=None,
        allow_any_address=False,
    )
    kept = keep_secret(new_secret("sk-"), "sk-")
    row = ImportRow(
        line=2, kept=kept, by_digest=False, member="", profile="", rules=rules, limits={}
    )

    plan = plan_import(workspace, [row], person=None)

    assert [(problem.line, problem.column) for problem in plan.problems] == [(2, "expires_at")]


@pytest.mark.parametrize("days", [0, -1, 3_651])
def test_a_lifetime_is_from_one_day_to_ten_years(days: int) -> None:
    with pytest.raises(ValidationError, match="1 to 3,650"):
        set_access_rules(make_workspace(), max_key_days=days, actor=ACTOR)
