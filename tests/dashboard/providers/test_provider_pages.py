"""The pages of providers: a credential goes in and never comes out."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from accounts.models import AuditEvent, User
from dashboard.providers.forms import initial_of_provider, provider_version
from gateway.models import Provider
from gateway.services.providers import set_credential
from tests.dashboard.visitors import HTMX, signed_in
from tests.factories import (
    ACTOR,
    make_model,
    make_provider,
    make_user,
    make_workspace,
    stored_credential,
)

pytestmark = pytest.mark.django_db

LIST, NEW = "/providers", "/providers/new"
SECRET = "sk-canary-5f1e0c77"
# Nothing listens there, so what is saved is tested at no cost.
NOBODY = "http://127.0.0.1:1/v1"


@pytest.fixture
def operator() -> User:
    make_workspace()
    return make_user(is_operator=True)


@pytest.fixture
def client(operator: User) -> Client:
    return signed_in(operator)


def new_form(**fields: Any) -> dict[str, Any]:
    there = {"name": "up", "kind": "openai", "base_url": NOBODY}
    return there | {"structured_dialect": "structured_outputs"} | fields


def edit_form(provider: Provider, **fields: Any) -> dict[str, Any]:
    """Return what the form of a provider posts that nobody has touched but for fields."""
    shown = initial_of_provider(provider)
    return {name: value for name, value in shown.items() if value not in (None, False)} | fields


def test_a_provider_is_made_and_its_credential_is_in_no_page(
    client: Client, operator: User
) -> None:
    answer = client.post(NEW, new_form(credential=SECRET, location="eu-west"))

    provider = Provider.objects.get()
    pages = [LIST, f"/providers/{provider.pk}", NEW, "/search?q=up"]
    shown = "".join(client.get(page).content.decode() for page in pages)
    assert (answer.status_code, answer["Location"]) == (302, f"/providers/{provider.pk}")
    assert (provider.base_url, provider.location) == (NOBODY, "eu-west")
    assert stored_credential(provider) == SECRET
    assert SECRET not in shown
    assert SECRET not in str(list(AuditEvent.objects.values()))
    assert AuditEvent.objects.get(action="provider.add").actor == operator.email


@pytest.mark.parametrize(
    ("field", "fields"),
    [
        ("name", {"name": "two words"}),
        ("name", {"name": "taken"}),
        ("kind", {"kind": "nobody"}),
        ("credential", {"credential": ""}),
        ("credential", {"credential": f"{SECRET} and more"}),
        ("base_url", {"kind": "vllm", "base_url": ""}),
        ("base_url", {"base_url": "ftp://up"}),
        ("base_url", {"base_url": "http://[::1"}),
        ("base_url", {"base_url": "http://host:99999999"}),
        ("base_url", {"base_url": "http://169.254.169.254/v1"}),
        ("base_url", {"base_url": "https://me:pass@up/v1"}),
        ("structured_dialect", {"structured_dialect": "telepathy"}),
        ("location", {"location": "x" * 61}),
    ],
)
def test_what_cannot_be_taken_is_named_and_the_credential_is_not_repeated(
    client: Client, field: str, fields: dict[str, Any]
) -> None:
    make_provider("taken")

    answer = client.post(NEW, new_form(credential=SECRET) | fields)

    assert answer.status_code == 422
    assert list(answer.context["form"].errors) == [field]
    assert SECRET not in answer.content.decode()
    has_secret = bool(fields.get("credential", SECRET))
    assert ("Enter this again. It is secret" in answer.content.decode()) == has_secret
    assert Provider.objects.count() == 1


def test_an_empty_credential_keeps_the_one_there_is(client: Client) -> None:
    provider = make_provider("up", kind="vllm", base_url="http://10.0.0.5/v1", credential=SECRET)
    form = edit_form(provider, structured_dialect="guided", is_local="on")

    answer = client.post(f"/providers/{provider.pk}", form, follow=True)

    provider.refresh_from_db()
    assert (provider.structured_dialect, provider.is_local) == ("guided", True)
    assert stored_credential(provider) == SECRET
    assert "Changed on-premises, structured dialect" in answer.content.decode()


def test_a_credential_is_replaced(client: Client) -> None:
    provider = make_provider("up", kind="openai", base_url=NOBODY, credential="sk-old")

    answer = client.post(
        f"/providers/{provider.pk}", edit_form(provider, credential=SECRET), follow=True
    )

    assert stored_credential(provider) == SECRET
    assert SECRET not in answer.content.decode()
    assert "Credential replaced" in answer.content.decode()


def test_another_host_asks_for_the_credential_again(client: Client) -> None:
    provider = make_provider("up", kind="openai", base_url=NOBODY, credential="sk-old")
    form = edit_form(provider, base_url="http://127.0.0.2:1/v1", location="new")

    refused = client.post(f"/providers/{provider.pk}", form)
    kept = Provider.objects.get()
    moved = client.post(f"/providers/{provider.pk}", form | {"credential": SECRET})

    assert (refused.status_code, list(refused.context["form"].errors)) == (422, ["credential"])
    assert (kept.base_url, kept.location) == (NOBODY, "")
    assert moved.status_code == 302
    assert stored_credential(provider) == SECRET


def test_the_second_of_two_people_who_edit_at_once_is_told(client: Client) -> None:
    provider = make_provider()
    seen = provider_version(provider)

    client.post(f"/providers/{provider.pk}", edit_form(provider, location="first"))
    late = client.post(
        f"/providers/{provider.pk}", edit_form(provider, location="second", seen=seen)
    )

    assert late.status_code == 409
    assert '<a href="">reload the page</a>' in late.content.decode()
    assert Provider.objects.get().location == "first"


def test_a_credential_that_was_replaced_meanwhile_is_not_overwritten(client: Client) -> None:
    provider = make_provider("up", kind="openai", base_url=NOBODY, credential="sk-old")
    form = edit_form(provider, seen=provider_version(provider), location="first")
    set_credential(provider, credential="sk-of-somebody-else", actor=ACTOR)

    late = client.post(f"/providers/{provider.pk}", form | {"credential": SECRET})
    page = late.content.decode()
    kept = stored_credential(provider)
    beside = client.post(f"/providers/{provider.pk}", form)

    assert late.status_code == 409
    assert "Someone else changed this provider in the meantime." in page
    assert SECRET not in page
    assert (kept, beside.status_code) == ("sk-of-somebody-else", 302)
    assert (stored_credential(provider), Provider.objects.get().location) == (kept, "first")


def test_a_provider_is_switched_off_and_on(client: Client) -> None:
    provider = make_provider()
    states = []
    for form in ({}, {"enabled": "on"}):
        client.post(f"/providers/{provider.pk}/switch", form)
        states.append(Provider.objects.get().enabled)

    assert states == [False, True]


@pytest.mark.parametrize(
    ("query", "names"), [("", ["one", "two"]), ("?q=TW", ["two"]), ("?q=%00no", [])]
)
def test_the_list_is_filtered_by_its_address(client: Client, query: str, names: list[str]) -> None:
    make_model(provider=make_provider("one"))
    make_provider("two")

    rows = client.get(LIST + query).context["table"].items

    assert [row.provider.name for row in rows] == names
    assert [row.models for row in rows] == [name == "one" for name in names]


def test_htmx_gets_the_table(client: Client) -> None:
    part = client.get(LIST, headers=HTMX)

    assert part.content.strip().startswith(b'<section id="provider-table"')


def test_the_dialect_is_asked_of_vllm_alone(client: Client) -> None:
    vllm = make_provider("v", kind="vllm", base_url="http://10.0.0.5/v1")
    other = make_provider("o", kind="openai", credential="sk-1")

    pages = [client.get(f"/providers/{each.pk}").content.decode() for each in (vllm, other)]

    assert ["Guided decoding" in page for page in pages] == [True, False]
