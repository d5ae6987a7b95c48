"""Forged forms: no field that the page does not offer, and no role that may not, changes a row."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from typing import Any

import pytest
from django.forms.models import model_to_dict
from django.test import Client
from django.urls import reverse

from accounts.models import LedgerEntry, Membership, Role, User, Wallet, Workspace
from accounts.services import lock_workspace
from dashboard.forms.submit_once import new_form_token
from dashboard.http.page_urls import page_address
from dashboard.keys.forms import initial_of
from keys.models import ApiKey
from tests.dashboard.visitors import path_of, signed_in
from tests.factories import make_key, make_member, make_user, make_workspace

pytestmark = pytest.mark.django_db

# Every column that no form offers, with what a forger would like to see in it.
FORGED: dict[str, Any] = {
    "id": str(uuid.uuid4()),
    "pk": str(uuid.uuid4()),
    "digest": "0" * 64,
    "hint": "aaaa",
    "prefix": "mine",
    "revoked_at": "",
    "created_at": "2001-01-01",
    "created_by": "1",
    "created_by_id": "1",
    "actor": "somebody-else@example.com",
    "changed_by": "1",
    "role": Role.OWNER,
    "is_operator": "on",
    "posted_nusd": "1000000000000",
    "credit_nusd": "1000000000000",
    "stores_bodies": "on",
    "locked_at": "",
}
MANAGERS = [Role.OWNER, Role.ADMIN, Role.DEVELOPER]
OTHERS = [Role.BILLING, Role.VIEWER]


def new_key_form(**fields: Any) -> dict[str, Any]:
    form = {
        "label": "Mine",
        "models_mode": "all",
        "scopes": ["completions"],
        "ips_mode": "all",
        "expires": "never",
        "token": new_form_token(),
    }
    return form | fields


def edit_form(key: ApiKey, **fields: Any) -> dict[str, Any]:
    shown = {name: value for name, value in initial_of(key).items() if value is not None}
    return shown | fields


def everything_but_keys() -> list[Any]:
    tables = (Workspace, Membership, Wallet, LedgerEntry, User)
    return [list(table.objects.order_by("pk").values()) for table in tables]


@pytest.mark.parametrize("role", MANAGERS)
def test_a_new_key_takes_nothing_from_fields_that_the_page_does_not_offer(role: str) -> None:
    here, elsewhere = make_workspace("Here"), make_workspace("Elsewhere")
    person = make_member(here, role)
    client, before = signed_in(person), everything_but_keys()
    forged = FORGED | {"workspace": str(elsewhere.pk), "workspace_id": str(elsewhere.pk)}

    response = client.post(path_of("key-create"), new_key_form(**forged))

    key = ApiKey.objects.get()
    assert response.status_code == 201
    assert (key.workspace, key.created_by, key.prefix) == (here, person, "sk-gw-")
    assert str(key.pk) not in (forged["id"], forged["pk"])
    assert key.digest != forged["digest"]
    assert key.created_at.year != 2001
    assert here.audit_events.latest("id").actor == person.email
    assert everything_but_keys() == before


@pytest.mark.parametrize("field", [*FORGED, "workspace", "workspace_id"])
@pytest.mark.parametrize("role", MANAGERS)
def test_an_edit_changes_nothing_that_the_page_does_not_offer(role: str, field: str) -> None:
    here, elsewhere = make_workspace("Here"), make_workspace("Elsewhere")
    person = make_member(here, role)
    key, _ = make_key(here, label="Ours", scopes=["completions"], created_by=person)
    client = signed_in(person)
    before, row = everything_but_keys(), model_to_dict(key)
    forged = {field: FORGED.get(field, str(elsewhere.pk))}

    response = client.post(path_of("key-edit", key.pk), edit_form(key, **forged))

    after = ApiKey.objects.get()
    assert response["Location"] == page_address(here, "key-edit", key.pk)
    assert model_to_dict(after) == row
    assert (after.pk, after.digest, after.created_at) == (key.pk, key.digest, key.created_at)
    assert everything_but_keys() == before


@pytest.mark.parametrize("scope", ["admin", "usage.workspace", "root", "*", ""])
def test_a_developer_cannot_forge_a_scope(scope: str) -> None:
    workspace = make_workspace()
    person = make_member(workspace, Role.DEVELOPER)
    key, _ = make_key(workspace, scopes=["completions"], created_by=person)
    client = signed_in(person)
    scopes = {"scopes": ["completions", scope]}

    answers = [
        client.post(path_of("key-create"), new_key_form(**scopes)),
        client.post(path_of("key-edit", key.pk), edit_form(key, **scopes)),
    ]

    assert [answer.status_code for answer in answers] == [422, 422]
    assert [row.scopes for row in ApiKey.objects.all()] == [["completions"]]


@pytest.mark.parametrize("role", OTHERS)
def test_a_member_who_may_not_manage_keys_changes_none(role: str) -> None:
    workspace = make_workspace()
    person = make_member(workspace, role)
    key, _ = make_key(workspace)
    ApiKey.objects.update(created_by=person)  # own or not, it makes no difference
    client, row = signed_in(person), ApiKey.objects.values().get()

    answers = [
        client.post(path_of("key-create"), new_key_form()),
        client.post(path_of("key-edit", key.pk), edit_form(key, label="Mine")),
        client.post(path_of("key-revoke", key.pk)),
    ]

    assert [answer.status_code for answer in answers] == [403, 403, 403]
    assert ApiKey.objects.values().get() == row


def test_an_owner_of_another_workspace_finds_nothing_to_change() -> None:
    key, _ = make_key(make_workspace("Theirs"))
    client = signed_in(make_member(make_workspace("Mine"), Role.OWNER))
    row = ApiKey.objects.values().get()

    answers = [
        client.post(path_of("key-edit", key.pk), edit_form(key, label="Mine")),
        client.post(path_of("key-revoke", key.pk)),
        client.get(path_of("key-edit", key.pk)),
    ]

    assert [answer.status_code for answer in answers] == [404, 404, 404]
    assert ApiKey.objects.values().get() == row


@pytest.mark.parametrize("role", Role.values)
def test_no_member_can_grant_credit(role: str) -> None:
    workspace = make_workspace(credit_nusd=5)
    client = signed_in(make_member(workspace, role))
    before = everything_but_keys()
    form = {"amount": "10", "reason": "gift", "token": str(uuid.uuid4())}

    response = client.post(path_of("credits-grant"), form)

    assert response.status_code == 403
    assert everything_but_keys() == before


@pytest.mark.parametrize("role", Role.values)
def test_no_member_can_undo_what_an_operator_locked(role: str) -> None:
    workspace = make_workspace()
    lock_workspace(workspace, reason="unpaid", actor="operator@example.com")
    client = signed_in(make_member(workspace, role))

    response = client.post(path_of("settings-unlock"))

    workspace.refresh_from_db()
    assert response.status_code == 403
    assert workspace.locked_at is not None


@pytest.mark.parametrize("role", [Role.DEVELOPER, *OTHERS])
@pytest.mark.parametrize("page", ["name", "profile", "bodies", "lock", "unlock"])
def test_a_member_who_may_not_manage_the_workspace_changes_nothing_of_it(
    role: str, page: str
) -> None:
    client = signed_in(make_member(make_workspace(), role))
    before = everything_but_keys()

    response = client.post(
        path_of(f"settings-{page}"),
        {"name": "Mine", "reason": "mine", "stores_bodies": "on", "compat_profile": "bud"},
    )

    assert response.status_code == 403
    assert everything_but_keys() == before


def test_a_workspace_that_is_not_ones_own_gets_no_key() -> None:
    mine, theirs = make_workspace("Mine"), make_workspace("Theirs")
    client = signed_in(make_member(mine, Role.OWNER))

    refused = client.post(page_address(theirs, "key-create"), new_key_form())
    client.post(path_of("key-create"), new_key_form())

    assert refused.status_code == 404
    assert ApiKey.objects.get().workspace == mine


def test_a_visitor_who_is_not_signed_in_changes_nothing() -> None:
    key, _ = make_key(make_workspace())
    make_user()
    client, row = Client(), ApiKey.objects.values().get()

    for name, arguments in (("key-create", []), ("key-edit", [key.pk]), ("key-revoke", [key.pk])):
        response = client.post(page_address(key.workspace, name, *arguments), new_key_form())
        assert response.status_code == 302
        assert reverse("account_login") in response["Location"]

    assert ApiKey.objects.values().get() == row


def test_saving_a_form_as_it_was_shown_moves_no_expiry_not_even_a_past_one() -> None:
    workspace = make_workspace()
    key, _ = make_key(workspace)
    moment = datetime(2020, 1, 1, 12, 30, 59, 999, tzinfo=UTC)
    ApiKey.objects.update(expires_at=moment)
    key.refresh_from_db()
    shown = edit_form(key, label="Renamed") | {"expires_at": "2020-01-01T12:30"}

    response = signed_in(make_member(workspace)).post(path_of("key-edit", key.pk), shown)

    after = ApiKey.objects.get()
    assert response.status_code == 302
    assert (after.label, after.expires_at) == ("Renamed", moment)
