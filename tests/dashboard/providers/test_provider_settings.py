"""The form of a provider asks what its kind needs, with and without JavaScript."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from dashboard.providers.forms import initial_of_provider
from gateway.models import Provider
from tests.dashboard.visitors import HTMX, signed_in
from tests.factories import make_provider, make_user, make_workspace
from tests.support.provider_kinds import cloud

__all__ = ["cloud"]

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("cloud")]

NEW = "/providers/new"
SECRET = "sk-canary-77aa"


@pytest.fixture
def client() -> Client:
    make_workspace()
    return signed_in(make_user(is_operator=True))


def test_choosing_a_kind_shows_its_fields(client: Client) -> None:
    first = client.get(NEW).content.decode()
    part = client.get(f"{NEW}?kind=cloud", headers=HTMX).content.decode()
    page = client.get(f"{NEW}?kind=cloud").content.decode()

    assert "setting_region" not in first
    assert part.strip().startswith('<fieldset class="stack" id="kind-fields"')
    for shown in (part, page):
        assert all(f'name="setting_{name}"' in shown for name in ("region", "stage", "project"))
        assert "As the console of the cloud shows it." in shown


def test_the_fields_of_a_kind_are_shown_without_javascript(client: Client) -> None:
    form = {"name": "up", "kind": "cloud", "credential": SECRET, "show_kind": "on"}
    form |= {"base_url": "https://up.example.com/v1", "location": "eu", "is_local": "on"}
    form |= {"setting_region": "nowhere", "transport": "telepathy"}

    answer = client.post(NEW, form)

    shown = answer.content.decode()
    assert 'value="https://up.example.com/v1"' in shown
    assert 'value="eu"' in shown
    assert re.search(r'name="is_local"[^>]* checked', shown)
    assert not re.search(r'name="allows_passthrough"[^>]* checked', shown)
    assert answer.status_code == 200
    assert 'name="setting_region"' in shown
    assert 'value="up"' in shown
    assert SECRET not in shown
    assert not Provider.objects.exists()


def test_the_built_in_one_is_asked_for_nothing(client: Client) -> None:
    part = client.get(f"{NEW}?kind=simulated", headers=HTMX).content.decode()
    client.post(NEW, {"name": "built-in", "kind": "simulated"})
    provider = Provider.objects.get()
    page = client.get(f"/providers/{provider.pk}")
    edit = initial_of_provider(provider) | {"location": "here"}
    shown = {name: edit[name] for name in ("location", "seen")}
    client.post(f"/providers/{provider.pk}", shown)

    for text in (part, page.content.decode()):
        assert not any(f'name="{name}"' in text for name in ("credential", "base_url", "proxy_url"))
    provider.refresh_from_db()
    assert (provider.base_url, provider.location) == ("simulated://local", "here")


def test_everything_that_is_wrong_is_said_at_once(client: Client) -> None:
    form = {"name": "two words", "kind": "cloud", "setting_region": "nowhere", "location": "\x01"}

    errors = client.post(NEW, form).context["form"].errors

    assert set(errors) == {"setting_region", "credential", "location", "name"}
    again = client.post(NEW, form | {"location": "", "setting_region": "eu-1"})
    assert set(again.context["form"].errors) == {"name", "credential"}


def test_a_provider_is_added_with_its_settings_and_they_are_changed(client: Client) -> None:
    form = {"name": "up", "kind": "cloud", "credential": SECRET, "base_url": "http://127.0.0.1:1/"}
    refused = client.post(NEW, form | {"setting_region": "nowhere"})
    client.post(NEW, form | {"setting_region": "eu-1", "setting_stage": "v1"})
    provider = Provider.objects.get()
    edit = initial_of_provider(provider) | {"setting_region": "us-2"}
    shown = {name: value for name, value in edit.items() if value not in (None, False)}

    page = client.post(f"/providers/{provider.pk}", shown, follow=True).content.decode()

    provider.refresh_from_db()
    assert refused.status_code == 422
    assert list(refused.context["form"].errors) == ["setting_region"]
    assert provider.settings == {"region": "us-2", "stage": "v1"}
    assert 'value="us-2"' in page
    assert "Changed region" in page


def test_a_change_of_settings_by_somebody_else_is_noticed(client: Client) -> None:
    provider = make_provider("up", kind="cloud", credential="sk-1", settings={"region": "eu-1"})
    shown = {k: v for k, v in initial_of_provider(provider).items() if v not in (None, False)}
    Provider.objects.update(settings={"region": "us-2"})

    answer = client.post(f"/providers/{provider.pk}", shown | {"location": "here"})

    assert answer.status_code == 409
