"""The pages of a provider's credentials: each goes in and never comes out."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import AuditEvent
from dashboard.providers.credential_form import credential_version
from gateway.models import Provider, ProviderCredential
from gateway.services.credential_encryption import decrypt
from tests.dashboard.visitors import signed_in
from tests.factories import make_provider, make_user, make_workspace

pytestmark = pytest.mark.django_db

SECRET = "sk-canary-0123456789wxyz"


@pytest.fixture
def client() -> Client:
    make_workspace()
    return signed_in(make_user(is_operator=True))


@pytest.fixture
def provider() -> Provider:
    return make_provider("up", kind="openai", credential="sk-first-0123456789abcd")


def form(**fields: object) -> dict[str, object]:
    there = {"name": "second", "weight": "1", "enabled": "on", "credential_source": "stored"}
    return there | fields


def page_of(client: Client, provider: Provider) -> str:
    return client.get(f"/providers/{provider.pk}").content.decode()


def test_a_credential_is_added_and_only_its_end_is_shown(
    client: Client, provider: Provider
) -> None:
    fields = form(credential=SECRET, weight="3", requests_per_minute="60", max_concurrent="4")

    answer = client.post(f"/providers/{provider.pk}/credentials/new", fields)

    row = provider.credentials.get(name="second")
    shown = page_of(client, provider)
    assert answer.status_code == 302
    assert (row.weight, row.requests_per_minute, row.max_concurrent) == (3, 60, 4)
    assert decrypt(bytes(row.secret or b""), row.pk) == SECRET
    assert SECRET not in shown + str(list(AuditEvent.objects.values()))
    assert all(
        text in shown for text in ("…wxyz", "…abcd", "60 per minute", "Credential added: second")
    )


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"credential": ""}, "credential"),
        ({"credential": f"{SECRET} and more"}, "credential"),
        ({"credential": SECRET, "name": "default"}, "name"),
        ({"credential": SECRET, "name": "two words"}, "name"),
        ({"credential": SECRET, "weight": "0"}, "weight"),
        ({"credential": SECRET, "weight": "101"}, "weight"),
        ({"credential": SECRET, "max_concurrent": "0"}, "max_concurrent"),
        ({"credential_source": "env", "credential_variable": "not a name"}, "credential"),
    ],
)
def test_what_cannot_be_taken_is_named_and_not_repeated(
    client: Client, provider: Provider, fields: dict[str, object], field: str
) -> None:
    answer = client.post(f"/providers/{provider.pk}/credentials/new", form(**fields))

    assert answer.status_code == 422
    assert list(answer.context["form"].errors) == [field]
    assert SECRET not in answer.content.decode()
    assert provider.credentials.count() == 1


def test_a_credential_that_is_missing_is_asked_for(client: Client, provider: Provider) -> None:
    answer = client.post(f"/providers/{provider.pk}/credentials/new", form(credential=""))

    assert answer.context["form"].errors["credential"] == ["Enter the credential."]


def test_a_credential_is_changed_replaced_and_removed(client: Client, provider: Provider) -> None:
    client.post(f"/providers/{provider.pk}/credentials/new", form(credential=SECRET))
    first = provider.credentials.get(name="default")
    url = f"/providers/{provider.pk}/credentials/{first.pk}"
    before = bytes(first.secret or b"")

    client.post(url, form(name="default", weight="7", seen=credential_version(first)))
    first.refresh_from_db()
    assert (first.weight, bytes(first.secret or b"")) == (7, before)
    late = client.post(url, form(name="default", seen="another"))
    client.post(url, form(name="default", credential="sk-new", seen=credential_version(first)))
    first.refresh_from_db()
    assert late.status_code == 409
    assert decrypt(bytes(first.secret or b""), first.pk) == "sk-new"

    client.post(f"{url}/remove")
    assert [row.name for row in provider.credentials.all()] == ["second"]


def test_who_replaces_a_credential_is_told_that_somebody_else_did(
    client: Client, provider: Provider
) -> None:
    row = provider.credentials.get()
    url = f"/providers/{provider.pk}/credentials/{row.pk}"
    seen = credential_version(row)

    first, late = (
        client.post(url, form(name="default", credential=credential, seen=seen))
        for credential in ("sk-first-9876543210", "sk-second-9876543210")
    )

    row.refresh_from_db()
    assert (first.status_code, late.status_code) == (302, 409)
    assert "Someone else changed this credential" in late.content.decode()
    assert decrypt(bytes(row.secret or b""), row.pk) == "sk-first-9876543210"


def test_the_last_credential_is_kept(client: Client, provider: Provider) -> None:
    row = provider.credentials.get()
    url = f"/providers/{provider.pk}/credentials/{row.pk}"

    removed = client.post(f"{url}/remove", follow=True).content.decode()
    fields = form(name="default", seen=credential_version(row))
    del fields["enabled"]
    disabled = client.post(url, fields)

    assert "The last credential cannot be removed." in removed
    assert list(disabled.context["form"].errors) == ["enabled"]
    assert provider.credentials.get().enabled


def test_states_are_told(client: Client, provider: Provider) -> None:
    for name, credential in (("env", "env::NOT_THERE_AT_ALL"), ("call", "dynamic::my_key")):
        client.post(
            f"/providers/{provider.pk}/credentials/new", form(name=name, credential=credential)
        )
    soon = timezone.now() + timedelta(minutes=5)
    ProviderCredential.objects.filter(name="default").update(
        failure="provider_rate_limit", rests_until=soon
    )

    shown = page_of(client, provider)

    assert "The variable NOT_THERE_AT_ALL is not set." in shown
    assert all(word in shown for word in ("Resting", "Unusable", "With each call"))


def test_the_parts_of_a_credential_become_one(client: Client) -> None:
    parts = {"part_access_key_id": "AKIDEXAMPLE12345", "part_secret_access_key": SECRET}
    fields = {"name": "aws", "kind": "aws_bedrock", "setting_region": "eu-west-1", **parts}

    answer = client.post("/providers/new", fields | {"base_url": "http://127.0.0.1:1"})

    row = ProviderCredential.objects.get()
    stored = json.loads(decrypt(bytes(row.secret or b""), row.pk))
    assert answer.status_code == 302
    assert stored == {"access_key_id": "AKIDEXAMPLE12345", "secret_access_key": SECRET}
    assert row.hint == "2345"


def test_an_access_key_without_its_secret_is_told(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALONE_ACCESS_KEY_ID", "AKIDEXAMPLE12345")
    settings = {"region": "eu-west-1"}
    variable = "env::ALONE_ACCESS_KEY_ID"
    provider = make_provider("aws", kind="aws_bedrock", settings=settings, credential=variable)

    assert "The variable ALONE_SECRET_ACCESS_KEY is not set." in page_of(client, provider)


def test_credentials_of_another_provider_are_not_found(client: Client, provider: Provider) -> None:
    other = make_provider("other", kind="openai", credential="sk-2").credentials.get()

    assert client.get(f"/providers/{provider.pk}/credentials/{other.pk}").status_code == 404
