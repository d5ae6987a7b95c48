"""The models that a provider says it has: listed, and picked for the form of a new model."""

from __future__ import annotations

import json

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from gateway.models import LanguageModel
from tests.dashboard.visitors import signed_in
from tests.factories import make_model, make_provider, make_user, make_workspace
from tests.support.servers import UpstreamServer

pytestmark = pytest.mark.django_db
PAGE = "/models/of-provider"


@pytest.fixture
def client() -> Client:
    make_workspace()
    return signed_in(make_user(is_operator=True))


def test_models_of_the_provider_are_listed_with_a_link_that_adds_them(
    client: Client, upstream: UpstreamServer
) -> None:
    provider = make_provider("up", kind="openai_compatible", base_url=upstream.base_url)

    page = client.get(PAGE, {"provider": "up"}).content.decode()
    assert "/models/new?provider=up&amp;native=fake" in page
    assert (
        "No matching models" in client.get(PAGE, {"provider": "up", "q": "none"}).content.decode()
    )

    make_model("taken", provider=provider, native_model="fake")
    assert "Added" in client.get(PAGE, {"provider": "up"}).content.decode()


def test_a_picked_model_comes_with_its_name_and_listed_prices(client: Client) -> None:
    make_provider("openai", kind="openai", credential="sk-test")
    call_command("import_prices", "--confirm")

    form = client.get("/models/new", {"provider": "openai", "native": "gpt-4o"}).context["form"]

    shown = {name: form[name].value() for name in ("name", "input_usd", "cached_usd", "output_usd")}
    assert shown == {
        "name": "gpt-4o",
        "input_usd": "2.50",
        "cached_usd": "1.25",
        "output_usd": "10.00",
    }
    assert form["context_tokens"].value() == 128_000
    posted = {name: form[name].value() for name in form.fields if form[name].value() is not None}
    client.post("/models/new", posted | {"max_output_tokens": 16_384})
    assert LanguageModel.objects.get(name="gpt-4o").cached_input_pusd_per_token == 1_250_000


@pytest.mark.parametrize(
    ("path", "sentence"),
    [("listless/v1", "has no list of its models"), ("nowhere/v1", "404"), ("down/v1", "503")],
)
def test_what_is_wrong_with_the_list_is_said(
    client: Client, upstream: UpstreamServer, path: str, sentence: str
) -> None:
    base_url = upstream.base_url.removesuffix("v1") + path
    make_provider("up", kind="openai_compatible", base_url=base_url)

    shown = client.get(PAGE, {"provider": "up"}).content.decode()
    assert sentence in shown
    assert 'href="/models/new?provider=up"' in shown
    with pytest.raises(CommandError, match=sentence):
        call_command("list_provider_models", "up")


def test_the_command_lists_them(
    upstream: UpstreamServer, capsys: pytest.CaptureFixture[str]
) -> None:
    make_provider("up", kind="openai_compatible", base_url=upstream.base_url)

    call_command("list_provider_models", "up", "--json")

    answer = json.loads(capsys.readouterr().out)
    assert answer["models"] == [
        {"id": "fake", "is_added": False, "prices_usd": {}, "context_tokens": None}
    ]
