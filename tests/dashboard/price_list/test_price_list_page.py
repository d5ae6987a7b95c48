"""The page of the price list: what an import changes, and models that get its prices."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client

from accounts.models import AuditEvent, ConfigChange
from gateway.models import LanguageModel, ListPrice
from gateway.services.price_list import importing
from gateway.services.price_list.package import Listed, listed_id, read_package
from tests.dashboard.visitors import signed_in
from tests.factories import make_model, make_provider, make_user, make_workspace

pytestmark = pytest.mark.django_db

PAGE, IMPORT, TAKE = "/models/prices", "/models/prices/import", "/models/prices/take"
TOKEN = re.compile(r'name="token" value="(\w+)"')


@pytest.fixture
def client() -> Client:
    make_workspace()
    return signed_in(make_user(is_operator=True))


def text_of(client: Client) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", client.get(PAGE).content.decode()))


def import_all(client: Client) -> Any:
    found = TOKEN.search(client.get(PAGE).content.decode())
    assert found
    return client.post(IMPORT, {"token": found[1]}, follow=True)


def make_gpt_4o() -> LanguageModel:
    provider = make_provider("openai", kind="openai", credential="sk-test")
    return make_model("smart", provider=provider, native_model="gpt-4o-2024-11-20")


def test_an_import_adds_the_rows_that_were_shown_and_changes_no_model(client: Client) -> None:
    model = make_gpt_4o()
    before = LanguageModel.objects.values().get(pk=model.pk)

    page = import_all(client)

    assert "prices are imported" in page.content.decode()
    assert ListPrice.objects.count() == len(read_package())
    assert LanguageModel.objects.values().get(pk=model.pk) == before
    assert AuditEvent.objects.get(action="price_list.import").details["changed"] == 0
    assert "The price list is imported" in text_of(client)


def test_an_import_that_nobody_has_seen_is_refused(client: Client) -> None:
    answer = client.post(IMPORT, {"token": "other"}, follow=True)

    assert "Look at the changes again" in answer.content.decode()
    assert not ListPrice.objects.exists()


def test_a_changed_price_is_shown_beside_the_old_one_and_added(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    import_all(client)

    def dearer() -> list[Listed]:
        return [
            replace(listed, prices=listed.prices | {"prompt": 9_990_000})
            if (listed.kind, listed.model_id) == ("openai", "gpt-4o")
            else listed
            for listed in read_package()
        ]

    monkeypatch.setattr(importing, "read_package", dearer)

    assert "Input 2.50 9.99" in text_of(client)
    import_all(client)
    rows = ListPrice.objects.filter(kind="openai", model_id="gpt-4o").order_by("id")
    assert [row.prices["prompt"] for row in rows] == [2_500_000, 9_990_000]


def test_a_model_takes_the_listed_prices_and_gateways_are_told(client: Client) -> None:
    model = make_gpt_4o()
    import_all(client)
    assert "smart gpt-4o" in text_of(client)
    assert "Output" in text_of(client)
    told = ConfigChange.objects.count()

    page = client.post(TAKE, {"model": ["smart"]}, follow=True)

    assert "Prices changed within a second: smart." in page.content.decode()
    model.refresh_from_db()
    assert model.input_pusd_per_token == 2_500_000
    assert model.output_pusd_per_token == 10_000_000
    assert model.cached_input_pusd_per_token == 1_250_000
    assert model.context_tokens == 128_000
    assert ConfigChange.objects.count() > told
    assert "smart gpt-4o" not in text_of(client)


@pytest.mark.parametrize(
    ("names", "sentence"),
    [
        (["nobody"], "does not exist"),
        (["local"], "The price list has no price for"),
        ([], "Choose the models"),
    ],
)
def test_a_model_without_a_listed_price_is_named(
    client: Client, names: list[str], sentence: str
) -> None:
    make_model("local")
    import_all(client)

    page = client.post(TAKE, {"model": names}, follow=True)

    assert sentence in page.content.decode()


def test_the_command_says_and_does_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    make_gpt_4o()

    call_command("import_prices")
    assert "Not imported yet" in capsys.readouterr().out
    call_command("import_prices", "--confirm")
    told = capsys.readouterr().out
    assert "Imported." in told
    assert "Differs from the list: smart" in told
    call_command("import_prices", "--take-all")
    assert "Prices changed: smart." in capsys.readouterr().out
    call_command("import_prices")
    assert capsys.readouterr().out == "genai-prices 0.2.3 is imported.\n"


@pytest.mark.parametrize(
    ("kind", "native", "listed"),
    [
        ("openai", "gpt-4o-2024-11-20", "gpt-4o"),
        ("xai", "grok-4", "grok-4"),
        ("openai", "nothing-like-it", ""),
        ("vllm", "gpt-4o", ""),
    ],
)
def test_models_are_found_by_the_names_that_providers_have_for_them(
    kind: str, native: str, listed: str
) -> None:
    assert listed_id(kind, native).startswith(listed)
    assert bool(listed_id(kind, native)) == bool(listed)
