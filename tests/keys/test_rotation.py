"""Rotating keys: what is stored, who may, and what cannot be."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.utils import timezone

from accounts.models import AuditEvent
from dashboard.forms.submit_once import new_form_token
from keys.importing import read_imported_secret
from keys.models import ApiKey, RetiredSecret
from keys.rotation import rotate_key
from keys.secret import digest_secret
from keys.selectors import get_key
from keys.services import revoke_key
from tests.dashboard.visitors import path_of, signed_in
from tests.factories import ACTOR, make_key, make_member, make_workspace

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)


def test_the_old_secret_is_kept_as_a_digest_and_the_rules_stay() -> None:
    key, old = make_key(make_workspace(), allowed_models=["m"], expires_at=timezone.now() + DAY)
    expires_at = key.expires_at

    rotated = rotate_key(key, overlap=DAY, actor=ACTOR)

    [retired] = RetiredSecret.objects.all()
    assert rotated.key.digest == digest_secret(rotated.secret) != digest_secret(old)
    assert retired.digest == digest_secret(old)
    assert (rotated.key.allowed_models, rotated.key.expires_at) == (["m"], expires_at)
    assert rotated.secret[:6] == old[:6]
    assert get_key(old) == get_key(rotated.secret) == key
    event = AuditEvent.objects.get(action="key.rotate")
    assert old not in str(event.details)
    assert rotated.secret not in str(event.details)


@pytest.mark.parametrize("overlap", [timedelta(seconds=-1), timedelta(days=7, seconds=1)])
def test_an_overlap_is_at_most_seven_days(overlap: timedelta) -> None:
    with pytest.raises(ValidationError, match="0 to 7 days"):
        rotate_key(make_key(make_workspace()).key, overlap=overlap, actor=ACTOR)


def test_a_revoked_or_expired_key_is_not_rotated() -> None:
    revoked = make_key(make_workspace()).key
    revoke_key(revoked, actor=ACTOR)
    expired = make_key(make_workspace()).key
    ApiKey.objects.filter(pk=expired.pk).update(expires_at=timezone.now())

    for key in (revoked, expired):
        with pytest.raises(ValidationError, match="cannot be rotated"):
            rotate_key(key, overlap=DAY, actor=ACTOR)


def test_a_secret_that_a_key_had_is_not_imported_as_another() -> None:
    workspace = make_workspace()
    key, old = make_key(workspace)
    rotate_key(key, overlap=timedelta(0), actor=ACTOR)

    with pytest.raises(ValidationError):
        read_imported_secret(old, workspace)
    with pytest.raises(ValidationError):
        read_imported_secret(old, make_workspace())


def test_the_command_prints_the_new_secret(capsys: pytest.CaptureFixture[str]) -> None:
    key, _ = make_key(make_workspace())

    call_command("rotate_key", str(key.pk), "--overlap", "2h", "--json")
    shown = capsys.readouterr().out
    key.refresh_from_db()

    assert f"…{key.hint}" in key.shown_secret
    assert key.hint in shown
    assert len(key.old_secrets) == 1


def post(visitor: Any, key: ApiKey, **fields: Any) -> Any:
    page = path_of("key-rotate", key.pk)
    return visitor.post(page, {"overlap": "24", "token": new_form_token()} | fields)


def test_the_page_shows_the_new_secret_once_and_until_when_the_old_one_works() -> None:
    workspace = make_workspace()
    visitor = signed_in(make_member(workspace))
    key, _ = make_key(workspace)
    before = key.shown_secret
    token = new_form_token()

    first, again = (post(visitor, key, token=token) for _ in range(2))
    page = visitor.get(path_of("key-edit", key.pk)).content.decode()

    assert first.status_code == 201
    secret = first.context["secret"]
    assert secret in first.content.decode()
    assert again.status_code == 409
    assert secret not in page
    assert "works until" in page
    assert before in page


def test_a_developer_rotates_their_own_keys_and_none_above_them() -> None:
    workspace = make_workspace()
    developer = make_member(workspace, "developer")
    visitor = signed_in(developer)
    own, others = make_key(workspace, created_by=developer).key, make_key(workspace).key
    above = make_key(workspace, scopes=["admin"]).key
    ApiKey.objects.filter(pk=above.pk).update(created_by=developer)

    answers = [post(visitor, key).status_code for key in (own, others, above)]

    assert answers == [201, 403, 403]
    assert RetiredSecret.objects.count() == 1
