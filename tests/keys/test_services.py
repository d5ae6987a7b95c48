"""Keys from issue to revocation."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.core import serializers
from django.core.exceptions import ValidationError
from django.utils import timezone

from accounts.models import AuditEvent, ConfigChange
from keys.models import ApiKey
from keys.services import digest_secret, revoke_key, update_key
from tests.factories import ACTOR, make_key, make_workspace

pytestmark = pytest.mark.django_db


def key_changes() -> list[str]:
    rows = ConfigChange.objects.filter(kind=ConfigChange.Kind.KEY).order_by("id")
    return list(rows.values_list("ref", flat=True))


def edit(key: ApiKey, **fields: Any) -> bool:
    same: dict[str, Any] = {
        "label": key.label,
        "scopes": key.scopes,
        "allowed_models": key.allowed_models,
        "allowed_ips": key.allowed_ips,
        "denied_models": [],
        "denied_ips": [],
        "expires_at": key.expires_at,
    }
    return update_key(key, actor=ACTOR, **(same | fields))


def test_a_key_is_stored_as_its_digest_and_never_as_its_secret() -> None:
    key, secret = make_key(make_workspace())

    written = serializers.serialize("json", [*ApiKey.objects.all(), *AuditEvent.objects.all()])
    assert secret.startswith("sk-gw-")
    assert len(secret) == len("sk-gw-") + 43
    assert (key.prefix, key.hint) == ("sk-gw-", secret[-4:])
    assert ApiKey.objects.get(digest=digest_secret(secret)) == key
    assert secret not in written
    assert secret[6:] not in written


def test_the_secret_stays_out_of_what_gets_printed() -> None:
    issued = make_key(make_workspace())

    assert issued.secret not in repr(issued)
    assert issued.secret not in str(issued)


def test_a_new_key_may_do_the_usual_from_anywhere_with_any_model_for_ever() -> None:
    key, _ = make_key(make_workspace())

    key.refresh_from_db()
    assert key.scopes == ["completions", "usage"]
    assert (key.allowed_models, key.allowed_ips, key.expires_at) == ([], None, None)
    assert key.is_usable


def test_rules_are_stored_in_their_one_form() -> None:
    key, _ = make_key(
        make_workspace(),
        label=" Batch ",
        scopes=["usage"],
        allowed_models=[" a "],
        allowed_ips=["::ffff:203.0.113.0/120"],
    )

    key.refresh_from_db()
    assert (key.label, key.scopes) == ("Batch", ["usage"])
    assert (key.allowed_models, key.allowed_ips) == (["a"], ["203.0.113.0/24"])


def test_every_wrong_field_is_named_at_once_and_no_key_is_made() -> None:
    with pytest.raises(ValidationError) as refusal:
        make_key(
            make_workspace(),
            label="",
            scopes=["root"],
            allowed_models=[""],
            allowed_ips=["x"],
            expires_at=datetime(2020, 1, 1, tzinfo=UTC),
        )

    wrong = {"label", "scopes", "allowed_models", "allowed_ips", "expires_at"}
    assert set(refusal.value.message_dict) == wrong
    assert not ApiKey.objects.exists()
    assert key_changes() == []


def test_issue_edit_and_revocation_each_leave_one_change_and_one_audit_line() -> None:
    key, _ = make_key(make_workspace())

    edit(key, label="Renamed")
    revoke_key(key, actor="boss@example.com")

    actions = AuditEvent.objects.filter(target=str(key.pk)).order_by("id")
    assert key_changes() == [key.digest] * 3
    assert [event.action for event in actions] == ["key.issue", "key.update", "key.revoke"]
    assert actions[2].actor == "boss@example.com"


def test_an_edit_is_written_down_as_before_and_after() -> None:
    key, _ = make_key(make_workspace(), label="Old")
    expires_at = timezone.now() + timedelta(days=1)

    edit(key, label="New", expires_at=expires_at)

    details = AuditEvent.objects.get(action="key.update").details
    assert details == {"label": ["Old", "New"], "expires_at": [None, expires_at.isoformat()]}
    assert (key.label, key.expires_at) == ("New", expires_at)
    assert json.dumps(details)


def test_an_edit_that_changes_nothing_says_so_and_leaves_no_line() -> None:
    key, _ = make_key(make_workspace())

    changed = edit(key)

    assert not changed
    assert len(key_changes()) == 1


def test_a_wrong_edit_leaves_the_key_as_it_was() -> None:
    key, _ = make_key(make_workspace(), label="Old")

    with pytest.raises(ValidationError):
        edit(key, label="New", allowed_ips=["x"])

    assert ApiKey.objects.get().label == "Old"
    assert len(key_changes()) == 1


def test_an_expired_key_can_be_renamed_but_not_given_another_past() -> None:
    key, _ = make_key(make_workspace())
    ApiKey.objects.update(expires_at=datetime(2020, 1, 1, tzinfo=UTC))
    key.refresh_from_db()

    renamed = edit(key, label="Old one")
    with pytest.raises(ValidationError) as refusal:
        edit(key, expires_at=datetime(2021, 1, 1, tzinfo=UTC))

    assert renamed
    assert ApiKey.objects.get().expires_at == datetime(2020, 1, 1, tzinfo=UTC)
    assert set(refusal.value.message_dict) == {"expires_at"}


def test_rules_confirmed_once_need_no_second_confirmation() -> None:
    key, _ = make_key(make_workspace(), allowed_ips=["0.0.0.0/0"], allow_any_address=True)

    renamed = edit(key, label="Renamed")
    with pytest.raises(ValidationError) as refusal:
        edit(key, allowed_ips=["::/0"])

    assert renamed
    assert set(refusal.value.message_dict) == {"allowed_ips"}


def test_revoking_works_once() -> None:
    key, _ = make_key(make_workspace())
    another_copy = ApiKey.objects.get(pk=key.pk)

    answers = [revoke_key(key, actor=ACTOR), revoke_key(another_copy, actor=ACTOR)]

    assert answers == [True, False]
    assert another_copy.revoked_at == key.revoked_at
    assert not key.is_usable
    assert not ApiKey.objects.usable().exists()


def test_a_revoked_key_cannot_be_edited() -> None:
    key, _ = make_key(make_workspace())
    revoke_key(ApiKey.objects.get(), actor=ACTOR)

    with pytest.raises(ValidationError, match="revoked"):
        edit(key, label="Alive again")

    assert ApiKey.objects.get().revoked_at is not None
