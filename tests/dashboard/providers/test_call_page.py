"""The button that tests a provider with one real call."""

from __future__ import annotations

import pytest
from django.test import Client

from accounts.models import AuditEvent
from gateway.models import Provider
from gateway.services.provider_credentials import add_credential
from tests.dashboard.visitors import HTMX, signed_in
from tests.factories import ACTOR, make_model, make_provider, make_user, make_workspace
from tests.support.servers import UpstreamServer

pytestmark = pytest.mark.django_db


@pytest.fixture
def client() -> Client:
    make_workspace()
    return signed_in(make_user(is_operator=True))


@pytest.fixture
def provider(upstream: UpstreamServer) -> Provider:
    base_url = f"{upstream.origin}/keyed/v1"
    provider = make_provider("up", kind="openai", base_url=base_url, credential="sk-right")
    make_model("ours", provider=provider, native_model="fake")
    return provider


def test_the_page_offers_the_models_and_says_who_pays(client: Client, provider: Provider) -> None:
    shown = client.get(f"/providers/{provider.pk}").content.decode()

    assert "The provider bills it; no workspace is charged." in shown
    assert '<option value="fake">' in shown
    assert 'name="model" value="fake"' in shown
    assert 'id="call_credential"' not in shown


def test_the_card_says_what_came_of_the_call(client: Client, provider: Provider) -> None:
    add_credential(provider, name="other", credential="sk-wrong-0123", actor=ACTOR)
    url = f"/providers/{provider.pk}/call"

    served = client.post(url, {"model": "fake", "credential": "default"}, headers=HTMX)
    refused = client.post(url, {"model": "fake", "credential": "other"}, headers=HTMX)

    assert "fake answered after" in served.content.decode()
    assert "The credential was rejected" in refused.content.decode()
    assert '<option value="other" selected>' in refused.content.decode()
    assert AuditEvent.objects.filter(action="provider.test_call").count() == 2
    assert "Tested with a call" in client.get(f"/providers/{provider.pk}").content.decode()


def test_without_javascript_the_page_of_the_provider_says_it(
    client: Client, provider: Provider
) -> None:
    url = f"/providers/{provider.pk}/call"

    served = client.post(url, {"model": "fake"}, follow=True)
    empty = client.post(url, {"model": ""}, follow=True)
    long = client.post(url, {"model": "x" * 201}, follow=True)

    assert "fake answered after" in served.content.decode()
    assert "Enter a model ID of the provider." in empty.content.decode()
    assert "at most 200 characters" in long.content.decode()
    assert [each.redirect_chain[0][1] for each in (served, empty, long)] == [302] * 3


def test_only_operators_can_make_it(provider: Provider) -> None:
    answer = signed_in(make_user()).post(f"/providers/{provider.pk}/call", {"model": "fake"})

    assert answer.status_code in (403, 404)
    assert not AuditEvent.objects.filter(action="provider.test_call").exists()
