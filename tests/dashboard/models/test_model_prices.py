"""Prices that are more often a slip than meant are asked for once more on the pages of models."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from gateway.core.units import Unit, other_units
from gateway.models import LanguageModel
from tests.dashboard.models.test_model_pages import NEW, edit_form, new_form
from tests.dashboard.visitors import signed_in
from tests.factories import make_model, make_provider, make_user, make_workspace

pytestmark = pytest.mark.django_db


@pytest.fixture
def client() -> Client:
    make_workspace()
    return signed_in(make_user(is_operator=True))


@pytest.mark.parametrize(
    ("field", "fields"),
    [
        ("input_usd", {"input_usd": "0"}),
        ("output_usd", {"output_usd": "0.00"}),
        ("cached_usd", {"cached_usd": "0"}),
    ],
)
def test_a_price_of_nothing_is_asked_for_once_more(
    client: Client, field: str, fields: dict[str, str]
) -> None:
    make_provider("up", kind="openai", credential="sk-live")
    shown_first = client.get(NEW).content

    asked = client.post(NEW, new_form(**fields))
    made_before = LanguageModel.objects.count()
    answer = client.post(NEW, new_form(**fields, confirm_price="on"))

    assert b"confirm_price" not in shown_first
    assert asked.status_code == 422
    assert set(asked.context["form"].errors) == {field}
    assert b'name="confirm_price"' in asked.content
    assert (made_before, answer.status_code) == (0, 302)
    assert LanguageModel.objects.count() == 1


@pytest.mark.parametrize("provider", [{"kind": "simulated"}, {"kind": "vllm", "is_local": True}])
def test_what_costs_us_nothing_may_cost_callers_nothing_in_one_step(
    client: Client, provider: dict[str, Any]
) -> None:
    address = {} if provider["kind"] == "simulated" else {"base_url": "http://127.0.0.1:1/v1"}
    make_provider("up", **provider, **address)

    answer = client.post(NEW, new_form(input_usd="0", output_usd="0"))

    assert answer.status_code == 302
    assert LanguageModel.objects.get().output_pusd_per_token == 0


@pytest.mark.parametrize(
    ("fields", "is_asked"),
    [
        ({"input_usd": "10"}, True),
        ({"input_usd": "0.1"}, True),
        ({"output_usd": "0"}, True),
        ({"output_usd": "2000"}, True),
        ({"input_usd": "9.99", "output_usd": "0.21"}, False),
        # Tokens from a cache often cost a tenth, and follow the input's price until they are told.
        ({"cached_usd": "0.1"}, False),
        ({"cached_usd": "0"}, True),
    ],
)
def test_a_price_far_from_before_is_asked_for_once_more(
    client: Client, fields: dict[str, str], is_asked: bool
) -> None:
    model = make_model("gpt", provider=make_provider("up", kind="openai", credential="sk-live"))
    before = LanguageModel.objects.values().get()
    url, form = f"/models/{model.pk}", edit_form(model, **fields, description="Changed.")

    first = client.post(url, form)
    between = LanguageModel.objects.values().get()
    if is_asked:
        answer = client.post(url, form | {"confirm_price": "on"})

        assert first.status_code == 422
        assert b'name="confirm_price"' in first.content
        assert between == before
        assert answer.status_code == 302
    assert (first.status_code == 302) != is_asked
    assert LanguageModel.objects.get().description == "Changed."


def test_cache_writes_have_a_price_of_their_own_where_one_is_set(client: Client) -> None:
    model = make_model("gpt", provider=make_provider("up", kind="openai", credential="sk-live"))
    url = f"/models/{model.pk}"
    empty = client.get(url)

    client.post(url, edit_form(model, cache_write_usd="1.25"))
    set_once = LanguageModel.objects.get()
    shown = client.get(url)
    refused = client.post(url, edit_form(set_once, cache_write_usd="0.0000001"))
    client.post(url, edit_form(set_once, cache_write_usd=""))

    assert b'name="cache_write_usd"' in empty.content
    assert set_once.cache_write_pusd_per_token == 1_250_000
    assert b'name="cache_write_usd" value="1.25"' in shown.content
    assert b"too many decimals" in refused.content
    assert LanguageModel.objects.get().cache_write_pusd_per_token is None


@pytest.mark.parametrize(
    "unit", [unit for unit in other_units() if unit.price_column], ids=lambda unit: unit.name
)
def test_every_unit_with_a_price_has_a_field(client: Client, unit: Unit) -> None:
    model = make_model("gpt", provider=make_provider("up", kind="openai", credential="sk-live"))
    url, name = f"/models/{model.pk}", f"{unit.name}_usd"
    pages = [client.get(url), client.get(NEW)]

    def price() -> int | None:
        found: int | None = getattr(LanguageModel.objects.get(), unit.price_column)
        return found

    client.post(url, edit_form(model, **{name: "0.5"}))
    priced, shown = price(), client.get(url)
    client.post(url, edit_form(LanguageModel.objects.get(), **{name: ""}))

    assert all(f'name="{name}"'.encode() in page.content for page in pages)
    assert priced == unit.pusd_per_shown_usd // 2
    assert f'name="{name}" value="0.50"'.encode() in shown.content
    assert price() is None


def test_a_free_model_stays_free_without_further_questions(client: Client) -> None:
    provider = make_provider("up", kind="openai", credential="sk-live")
    model = make_model("gpt", provider=provider, input_pusd=0, output_pusd=0, may_be_free=True)

    answer = client.post(f"/models/{model.pk}", edit_form(model, description="Changed."))
    dearer = client.post(
        f"/models/{model.pk}", edit_form(LanguageModel.objects.get(), input_usd="1")
    )

    assert answer.status_code == 302
    assert dearer.status_code == 422
    assert b"This was 0.00 USD" in dearer.content


def test_a_change_of_the_operation_that_makes_output_free_is_asked_for_once_more(
    client: Client,
) -> None:
    make_provider("up", kind="openai", credential="sk-live")
    added = client.post(NEW, new_form(output_usd="0", operation="embeddings"))
    model = LanguageModel.objects.get()
    url, form = f"/models/{model.pk}", edit_form(model, operation="chat")

    asked = client.post(url, form)
    between = LanguageModel.objects.get().operation
    answer = client.post(url, form | {"confirm_price": "on"})

    assert (added.status_code, asked.status_code, answer.status_code) == (302, 422, 302)
    assert set(asked.context["form"].errors) == {"output_usd"}
    assert (between, LanguageModel.objects.get().operation) == ("embeddings", "chat")
