"""Public models, their prices and targets."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.exceptions import ValidationError

from accounts.models import AuditEvent, ConfigChange
from gateway.core.money import MAX_NUSD, Price, Usage, cost_nusd
from gateway.models import LanguageModel
from gateway.services.default_params import MAX_BYTES
from gateway.services.models import (
    MAX_PUSD_PER_TOKEN,
    MAX_TOKENS,
    add_target,
    set_model_enabled,
    set_prices,
    update_model,
)
from gateway.services.prompt_templates import FIELD, MAX_CHARS
from tests.factories import ACTOR, make_model, make_provider

pytestmark = pytest.mark.django_db

NO_DEFAULTS: tuple[Any, ...] = (
    *([], "text", {1: 2}, {"seed": None}, {"top_p": float("nan")}, {"x": "\0"}),
    *({"messages": []}, {"model": "x"}, {"n": 2}, {"stream": True}, {"tools": []}),
    *({"api_key": "x"}, {"base_url": "x"}, {"x": "y" * MAX_BYTES}),
)


def test_a_model_takes_what_is_not_said_from_what_is() -> None:
    model = make_model("llama", provider=make_provider("up"), input_pusd=7)

    target = model.targets.get()
    assert model.cached_input_pusd_per_token == 7
    assert model.owned_by == "up"
    assert (target.provider.name, target.native_model, target.position) == ("up", "llama", 0)


@pytest.mark.parametrize(
    "name", ["gpt-4o", "meta-llama/Llama-3.1-8B", "a:b@c+d_e", "7b", "x" * 200]
)
def test_names_as_providers_write_them_are_taken(name: str) -> None:
    assert make_model(name).name == name


@pytest.mark.parametrize(
    ("field", "fields"),
    [
        *(("name", {"name": name}) for name in ("", " ", "a b", "-a", "/a", "a\n", "é", "x" * 201)),
        *(("name", {"name": name}) for name in ("taken", "taken-too")),
        *(("aliases", {"aliases": [name]}) for name in ("taken", "taken-too", "fresh", "a b", "")),
        ("aliases", {"aliases": ["x", "x"]}),
        ("aliases", {"aliases": [f"x{number}" for number in range(21)]}),
        *(("fallbacks", {"fallbacks": [name]}) for name in ("fresh", "taken-too", "none", "")),
        ("fallbacks", {"fallbacks": ["taken", "taken"]}),
        ("fallbacks", {"fallbacks": [f"x{number}" for number in range(6)]}),
        ("input_pusd_per_token", {"input_pusd": -1}),
        ("output_pusd_per_token", {"output_pusd": MAX_PUSD_PER_TOKEN + 1}),
        ("cached_input_pusd_per_token", {"cached_input_pusd": -1}),
        ("max_output_tokens", {"max_output_tokens": 0}),
        ("max_output_tokens", {"max_output_tokens": MAX_TOKENS + 1}),
        ("context_tokens", {"context_tokens": 0}),
        ("unknown_fields", {"unknown_fields": "guess"}),
        ("template_render_mode", {"template_render_mode": "magic"}),
        ("operation", {"operation": "magic"}),
        ("default_system_prompt", {"default_system_prompt": "x" * (MAX_CHARS + 1)}),
        ("default_system_prompt", {"default_system_prompt": "a\0"}),
        *(
            ("default_system_prompt", {"template_render_mode": "logic", FIELD: text})
            for text in ("{% if x", "{{ 1 / 0 }}", "{% include 'x' %}", "{{ 'x' * 10**10 }}")
        ),
        ("native_model", {"native_model": "two\nlines"}),
        ("native_model", {"native_model": "x" * 201}),
    ],
)
def test_what_cannot_work_is_refused_by_its_field(field: str, fields: dict[str, object]) -> None:
    make_model("taken", aliases=["taken-too"])

    with pytest.raises(ValidationError) as refusal:
        make_model(**({"name": "fresh"} | fields))  # type: ignore[arg-type]

    assert set(refusal.value.message_dict) == {field}
    assert LanguageModel.objects.count() == 1


def test_the_dearest_call_there_can_be_fits_into_the_ledger() -> None:
    dearest = Price(MAX_PUSD_PER_TOKEN, MAX_PUSD_PER_TOKEN, MAX_PUSD_PER_TOKEN)

    assert cost_nusd(Usage(MAX_TOKENS, MAX_TOKENS), dearest) < MAX_NUSD


def test_a_change_of_price_is_written_down_with_before_and_after() -> None:
    model = make_model(input_pusd=1, cached_input_pusd=1, output_pusd=2)
    changes_before = ConfigChange.objects.count()

    answers = [set_prices(model, input_pusd=3, output_pusd=2, actor=ACTOR) for _ in range(2)]

    details = AuditEvent.objects.get(action="model.set_prices").details
    assert answers == [True, False]
    assert details["input_pusd_per_token"] == [1, 3]
    assert model.input_pusd_per_token == 3
    assert ConfigChange.objects.count() == changes_before + 1


def test_a_price_that_is_refused_leaves_the_old_one() -> None:
    model = make_model(input_pusd=1)

    with pytest.raises(ValidationError):
        set_prices(model, input_pusd=-1, output_pusd=2, actor=ACTOR)

    assert LanguageModel.objects.get().input_pusd_per_token == 1


def test_targets_are_tried_in_the_order_they_were_added_and_are_there_once() -> None:
    model = make_model("llama")
    second = make_provider("second")

    add_target(model, provider=second, native_model="llama-b", actor=ACTOR)
    with pytest.raises(ValidationError):
        add_target(model, provider=second, native_model=" llama-b ", actor=ACTOR)

    targets = list(model.targets.values_list("position", "native_model"))
    assert targets == [(0, "llama"), (1, "llama-b")]


def test_switching_a_model_off_is_told_once() -> None:
    model = make_model()

    answers = [set_model_enabled(model, enabled=False, actor=ACTOR) for _ in range(2)]

    assert answers == [True, False]
    assert AuditEvent.objects.filter(action="model.disable").count() == 1


def test_a_description_is_written_down_with_before_and_after() -> None:
    model = make_model(supports_vision=True)

    changed = update_model(
        model, supports_vision=False, default_params={"top_p": 0.9}, display_name="", actor=ACTOR
    )

    assert changed
    assert AuditEvent.objects.get(action="model.update").details == {
        "supports_vision": [True, False],
        "default_params": [{}, {"top_p": 0.9}],
    }


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("display_name", "two\x07bells"),
        ("display_name", "x" * 201),
        ("owned_by", "back\u202ewards"),
        ("description", "x" * 2001),
        ("context_tokens", 0),
        ("max_output_tokens", MAX_TOKENS + 1),
        ("unknown_fields", "guess"),
        *(("default_params", value) for value in NO_DEFAULTS),
    ],
)
def test_a_field_that_cannot_be_is_refused_and_stays(field: str, value: Any) -> None:
    model = make_model()
    before = ConfigChange.objects.count()

    with pytest.raises(ValidationError) as refusal:
        update_model(model, actor=ACTOR, **{field: value})

    assert set(refusal.value.message_dict) == {field}
    assert LanguageModel.objects.get() == model
    assert ConfigChange.objects.count() == before
