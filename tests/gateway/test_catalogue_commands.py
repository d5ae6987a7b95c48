"""set_model and set_provider, and what add_model and add_provider say beside the necessary."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

from accounts.models import AuditEvent, ConfigChange
from gateway.models import LanguageModel, Provider
from tests.factories import make_model, make_provider, stored_credential
from tests.gateway.test_commands import ask, refusal_of

pytestmark = pytest.mark.django_db

PRICES = ("input_pusd_per_token", "cached_input_pusd_per_token", "output_pusd_per_token")


def changes() -> int:
    return ConfigChange.objects.count()


def test_a_model_can_be_described_when_it_is_added() -> None:
    make_provider("up")

    answer = ask(
        *("add_model", "qwen", "--provider", "up", "--input", "1", "--output", "2"),
        *("--max-output", "4096", "--display-name", "Qwen", "--owned-by", "Alibaba"),
        *("--supports", "vision=no", "--supports", "tools=yes", "--unknown-fields", "reject"),
        *("--default-params", '{"temperature": 0.2}'),
    )

    assert answer["supports"] == {"vision": False, "pdf": None, "audio": None, "tools": True}
    assert answer["default_params"] == {"temperature": 0.2}
    shown = [answer[name] for name in ("display_name", "owned_by", "unknown_fields")]
    assert shown == ["Qwen", "Alibaba", "reject"]


def test_what_is_named_changes_and_the_rest_stays() -> None:
    make_model("qwen", context_tokens=8_000, description="Small.")

    answer = ask(
        *("set_model", "qwen", "--supports", "audio=no", "--max-output", "99", "--output", "3"),
    )

    model = LanguageModel.objects.get()
    assert answer["changed"]
    assert (model.supports_audio, model.supports_vision) == (False, None)
    assert (model.max_output_tokens, model.context_tokens) == (99, 8_000)
    assert [getattr(model, name) for name in PRICES] == [1_000_000, 1_000_000, 3_000_000]
    assert model.description == "Small."


def test_an_answer_can_be_taken_back() -> None:
    make_model("qwen", supports_vision=True, default_params={"top_p": 0.5})

    ask("set_model", "qwen", "--supports", "vision=unknown", "--default-params", "{}")

    model = LanguageModel.objects.get()
    assert (model.supports_vision, model.default_params) == (None, {})


def test_a_model_is_for_one_operation_or_for_any() -> None:
    make_model("qwen")

    alone = ask("set_model", "qwen", "--operation", "embeddings")["operation"]
    stored = LanguageModel.objects.get().operation
    again = ask("set_model", "qwen", "--operation", "any")["operation"]

    assert (alone, stored, again) == ("embeddings", "embeddings", "any")
    assert LanguageModel.objects.get().operation == ""


def test_a_prompt_can_come_from_a_file(tmp_path: Path) -> None:
    make_model("qwen")
    file = tmp_path / "prompt.txt"
    file.write_text("Be kind.\n\u20ac {{ now_date }}\n", encoding="utf-8")

    answer = ask("set_model", "qwen", "--template-mode", "vars", "--system-prompt-file", str(file))

    shown = (answer["template_render_mode"], answer["default_system_prompt"])
    assert shown == ("vars", file.read_text(encoding="utf-8"))
    assert ask("set_model", "qwen", "--system-prompt", "")["default_system_prompt"] == ""


@pytest.mark.parametrize(
    ("given", "prices"),
    [
        # Cached tokens that cost what others do still cost that.
        (("--input", "0.5"), [500_000, 500_000, 2_000_000]),
        (("--cached-input", "0.1"), [1_000_000, 100_000, 2_000_000]),
        (("--input", "0.5", "--cached-input", "1"), [500_000, 1_000_000, 2_000_000]),
    ],
)
def test_prices_change_one_by_one(given: tuple[str, ...], prices: list[int]) -> None:
    make_model("qwen")

    ask("set_model", "qwen", *given)

    assert [getattr(LanguageModel.objects.get(), name) for name in PRICES] == prices


def test_prices_of_other_units_are_set_and_unset() -> None:
    make_model("qwen")

    ask("set_model", "qwen", "--price", "cache_write=1.25", "--price", "second=0.0001")
    audited = AuditEvent.objects.latest("id").details
    both = LanguageModel.objects.get()
    ask("set_model", "qwen", "--price", "second=")
    kept = LanguageModel.objects.get()

    assert (both.cache_write_pusd_per_token, both.second_pusd_per_ms) == (1_250_000, 100_000)
    assert audited["cache_write_pusd_per_token"] == [None, 1_250_000]
    assert (kept.cache_write_pusd_per_token, kept.second_pusd_per_ms) == (1_250_000, None)


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ("tokens=1", "is not a unit and its price"),
        ("image", "is not a unit and its price"),
        ("prompt=1", "is not a unit and its price"),
        ("image=dear", "is not a price in USD per image"),
        ("image=-1", "cannot be negative"),
        ("image=1001", "between 0 and 1,000 USD per image"),
        ("cache_write=0", "--free"),
    ],
)
def test_prices_that_are_none_are_refused(given: str, reason: str) -> None:
    make_model("qwen", provider=make_provider("up", kind="openai", credential="sk-live"))

    assert reason in refusal_of("set_model", "qwen", "--price", given)


def test_a_model_is_offered_no_more_and_again() -> None:
    make_model("qwen")

    answers = [ask("set_model", "qwen", word)["enabled"] for word in ("--no-enabled", "--enabled")]

    assert answers == [False, True]


def test_what_is_as_it_was_tells_nobody() -> None:
    make_model("qwen")
    before = changes()

    answer = ask("set_model", "qwen", "--enabled", "--input", "1", "--unknown-fields", "forward")

    assert not answer["changed"]
    assert changes() == before


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("--supports", "smell=yes"), "smell"),
        (("--supports", "vision"), "vision"),
        (("--supports", "vision=perhaps"), "perhaps"),
        (("--template-mode", "logic", "--system-prompt", "a\n{% if x"), "Line 2"),
        (("--system-prompt-file", "/no/such/file"), "cannot be read"),
        (("--default-params", "{"), "not valid JSON"),
        (("--default-params", "[]"), "one JSON object"),
        (("--default-params", '{"max_tokens": 5}'), "max_tokens"),
        (("--default-params", '{"api_base": "http://x"}'), "api_base"),
        (("--default-params", '{"seed": null}'), "null"),
        (("--max-output", "0"), "--max-output: Enter 1 to"),
        (("--context", "0"), "--context: Enter 1 to"),
        (("--display-name", "a\x07"), "--display-name: Control characters"),
        (("--aliases", "qwen"), "--aliases: "),
        (("--output", "1000001"), "--output: The price must be"),
        (("--price", "image=1001"), "--price image: The price must be"),
        (("--template-mode", "logic", "--system-prompt", "{{"), "--system-prompt: "),
        (("--input=-1",), "--input: A price cannot be negative."),
        (("--output=-1",), "--output: A price cannot be negative."),
        (("--cached-input=-1",), "--cached-input: A price cannot be negative."),
        (("--price", "image=-1"), "--price image: A price cannot be negative."),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_changes(words: tuple[str, ...], part: str) -> None:
    make_model("qwen")
    before = changes()

    # The part that could be done is not done either.
    sentence = refusal_of("set_model", "qwen", "--display-name", "New", "--no-enabled", *words)

    model = LanguageModel.objects.get()
    assert part in sentence
    assert (model.display_name, model.enabled) == ("", True)
    assert changes() == before


def test_models_to_fall_back_to_are_named_in_order_and_taken_back() -> None:
    for name in ("qwen", "llama", "gpt"):
        make_model(name)

    named = ask("set_model", "qwen", "--fallbacks", "llama, gpt")["fallbacks"]
    refused = refusal_of("set_model", "qwen", "--fallbacks", "llama,qwen")
    kept = LanguageModel.objects.get(name="qwen").fallbacks
    taken_back = ask("set_model", "qwen", "--fallbacks", "")["fallbacks"]

    assert (named, kept, taken_back) == (["llama", "gpt"], ["llama", "gpt"], [])
    assert "to itself" in refused


@pytest.mark.parametrize("command", ["set_model", "set_provider"])
def test_a_name_that_nobody_has_is_said(command: str) -> None:
    assert "nobody" in refusal_of(command, "nobody")


def test_a_providers_dialect_place_and_switch_are_set() -> None:
    make_provider("up", kind="vllm", base_url="http://10.0.0.5:8000/v1")

    answer = ask(
        *("set_provider", "up", "--structured-dialect", "guided", "--local", "yes"),
        *("--location", "eu-west", "--no-enabled"),
    )

    shown = [answer[n] for n in ("structured_dialect", "is_local", "location", "enabled")]
    assert shown == ["guided", True, "eu-west", False]


def test_a_provider_can_be_described_when_it_is_added() -> None:
    answer = ask(
        *("add_provider", "up", "--kind", "vllm", "--base-url", "http://10.0.0.5:8000/v1"),
        *("--structured-dialect", "guided", "--local", "yes", "--location", "Paris"),
    )

    assert (answer["structured_dialect"], answer["location"]) == ("guided", "Paris")


def test_a_credential_is_replaced_and_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    make_provider("up", kind="openai", credential="sk-old")
    monkeypatch.setattr("sys.stdin", io.StringIO("sk-new-secret\n"))

    answer = ask("set_provider", "up", "--credential-stdin")

    provider = Provider.objects.get()
    assert stored_credential(provider) == "sk-new-secret"
    assert "sk-new-secret" not in str([answer, *AuditEvent.objects.values_list("details")])


def test_another_host_asks_for_the_credential_again(monkeypatch: pytest.MonkeyPatch) -> None:
    make_provider("up", kind="openai", credential="sk-old")
    monkeypatch.setenv("UP_KEY", "sk-new")
    move: tuple[Any, ...] = ("set_provider", "up", "--base-url", "https://eu.example/v1")

    sentence = refusal_of(*move)
    answer = ask(*move, "--credential-env", "UP_KEY")

    assert "credential" in sentence
    assert answer["base_url"] == "https://eu.example/v1"


def test_a_price_of_nothing_wants_an_option_of_its_own() -> None:
    make_provider("up", kind="openai", credential="sk-live")
    given = ("add_model", "gpt", "--provider", "up", "--max-output", "99")

    refusal = refusal_of(*given, "--input", "0", "--output", "1")
    answer = ask(*given, "--input", "0", "--output", "1", "--free")

    assert "are free" in refusal
    assert refusal.endswith("Add --free.")
    assert answer["input_pusd_per_token"] == 0


def test_prices_far_from_before_want_an_option_of_their_own() -> None:
    make_model("gpt", provider=make_provider("up", kind="openai", credential="sk-live"))

    refusals = [
        refusal_of("set_model", "gpt", "--input", "10"),
        refusal_of("set_model", "gpt", "--input", "10", "--free"),
        refusal_of("set_model", "gpt", "--output", "0", "--confirm-price"),
        refusal_of("set_model", "gpt", "--output", "0", "--input", "10"),
    ]
    unchanged = [getattr(LanguageModel.objects.get(), name) for name in PRICES]
    ask("set_model", "gpt", "--output", "0", "--input", "10", "--free", "--confirm-price")

    flags = [refusal.rpartition(" Add ")[2] for refusal in refusals]
    assert flags == ["--confirm-price.", "--confirm-price.", "--free.", "--free --confirm-price."]
    assert unchanged == [1_000_000, 1_000_000, 2_000_000]
    after = [getattr(LanguageModel.objects.get(), name) for name in PRICES]
    assert after == [10_000_000, 10_000_000, 0]


def test_a_simulated_model_is_free_in_one_step() -> None:
    make_provider("sim")

    answer = ask(
        *("add_model", "toy", "--provider", "sim", "--input", "0", "--output", "0"),
        *("--max-output", "99"),
    )

    assert answer["output_pusd_per_token"] == 0


def test_a_provider_where_a_cloud_tells_credentials_is_refused() -> None:
    where = ("--kind", "vllm", "--base-url", "http://2852039166/v1")

    sentence = refusal_of("add_provider", "up", *where)

    assert "TOLLHOUSE_LINK_LOCAL_PROVIDERS" in sentence


@pytest.mark.parametrize("operation", ["embeddings", "rerank", "moderations"])
@pytest.mark.parametrize("output", [(), ("--output", "0")])
def test_output_tokens_that_cannot_be_need_no_price(
    operation: str, output: tuple[str, ...]
) -> None:
    make_provider("up", kind="openai", credential="sk-live")
    given = ("add_model", "gpt", "--provider", "up", "--max-output", "99", "--input", "1")

    refusals = [
        refusal_of(*given, *output, "--operation", "chat"),
        refusal_of(*given, *output),
        refusal_of(*given[:-1], "0", *output, "--operation", operation),
    ]
    answer = ask(*given, *output, "--operation", operation)

    assert ("--free" if output else "--output: Enter the price") in refusals[0]
    assert refusals[1] == refusals[0]
    assert refusals[2].endswith("Add --free.")
    assert answer["output_pusd_per_token"] == 0


def test_output_tokens_are_not_free_by_a_change_of_the_operation() -> None:
    provider = make_provider("up", kind="openai", credential="sk-live")
    make_model("gpt", provider=provider, operation="embeddings")

    ask("set_model", "gpt", "--output", "0", "--operation", "rerank")
    refusal = refusal_of("set_model", "gpt", "--operation", "any")
    unchanged = LanguageModel.objects.get().operation
    ask("set_model", "gpt", "--operation", "chat", "--output", "2", "--confirm-price")

    assert refusal.endswith("Add --free.")
    assert unchanged == "rerank"
    assert LanguageModel.objects.get().operation == "chat"
