"""What an installation may set of the wire: where usage goes, what providers learn of users, in
what credits are counted."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.flows.caller import Answer, Caller
from tests.flows.site import Site, running_site

ENV = {
    "TOLLHOUSE_STREAM_USAGE_MODE": "separate",
    "TOLLHOUSE_FORWARD_USER": "hashed",
    "TOLLHOUSE_CREDITS_INTEGER": "true",
    "TOLLHOUSE_MAX_STOP_SEQUENCES": "6",
    "TOLLHOUSE_STRICT_TOOL_PAIRING": "yes",
    "TOLLHOUSE_SHORTHAND_PROVIDERS": "together, vllm",
}


@pytest.fixture(scope="module")
def set_site(home_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    home = Path(shutil.copytree(home_template, tmp_path_factory.mktemp("set") / "home"))
    with running_site(home, ENV) as running:
        furnish(running)
        yield running


def furnish(site: Site) -> None:
    """Add two-ways, served by together, then by vllm; its-twin, by the same model of together;
    together::shared, a model of that name; of-mistral, whose kind may not be named."""
    do, base_url = site.office.do, site.upstream.base_url
    do("provider", name="together", kind="together", base_url=base_url, credential="sk-t")
    do("provider", name="vllm", kind="vllm", base_url=base_url)
    do("provider", name="mistral", kind="mistral", base_url=base_url, credential="sk-m")
    do("model", name="two-ways", provider="together", native_model="shared")
    do("target", model="two-ways", provider="vllm")
    do("model", name="its-twin", provider="together", native_model="shared", input_pusd=7 * 10**6)
    do("model", name="together::shared", provider="fake")
    site.add_model("of-mistral", provider="mistral", native_model="large")


def usage_of(answer: Answer) -> list[tuple[int, bool]]:
    """Return how many choices each of the last two chunks has, and whether it has usage."""
    return [(len(chunk["choices"]), bool(chunk.get("usage"))) for chunk in answer.chunks[-2:]]


@pytest.mark.parametrize("options", [None, {}, {"include_usage": False}, {"include_usage": True}])
def test_usage_is_always_a_chunk_of_its_own(set_site: Site, options: Any) -> None:
    answer = set_site.caller().stream("one two", stream_options=options)

    assert usage_of(answer) == [(1, False), (0, True)]
    assert "x-compat-profile" not in answer.headers


def test_other_profiles_keep_to_their_product(set_site: Site) -> None:
    answer = set_site.caller().stream("one two", headers={"x-compat-profile": "bud"})

    assert usage_of(answer) == [(1, False), (1, False)]


def sent_as(caller: Caller, user: str) -> str:
    answer = caller.ask("script:echo", user=user)
    return str(json.loads(answer.echo["body_text"])["user"])


def test_providers_know_users_apart_and_no_more(set_site: Site) -> None:
    caller = set_site.caller()

    ann, bob = sent_as(caller, "ann@example.com"), sent_as(caller, "bob@example.com")

    assert ann == sent_as(caller, "ann@example.com") != bob
    assert re.fullmatch("[0-9a-f]{64}", ann)
    names = {record["user"] for record in set_site.records(caller, count=3)}
    assert names == {"ann@example.com", "bob@example.com"}


def test_a_call_of_nobody_is_sent_as_such(set_site: Site) -> None:
    answer = set_site.caller().ask("script:echo", user=None)

    assert "user" not in json.loads(answer.echo["body_text"])


def test_credits_are_whole_wherever_they_are_shown(set_site: Site) -> None:
    caller = set_site.caller()

    buffered, streamed = caller.ask("one two"), caller.stream("one two")

    assert buffered.headers["x-credits-used"] == "1"
    assert buffered.json["credits_used"] == streamed.chunks[-1]["credits_used"] == 1
    assert buffered.json["usage"]["cost"] < 0.01 / 2
    set_site.records(caller, count=2)
    used = caller.ask(method="GET", path="/v1/usage", raw=b"").json["data"]["total"]
    shown = caller.ask(method="GET", path=f"/v1/generation?id={buffered.call_id}", raw=b"")
    assert (used["calls"], used["credits_used"]) == (2, 1)
    assert shown.json["data"]["credits_used"] == 1


def test_more_stop_sequences_can_be_allowed(set_site: Site) -> None:
    caller = set_site.caller()

    taken = caller.ask("script:echo", stop=list("abcdef"))
    refused = caller.ask(stop=list("abcdefg"))
    document = caller.ask(method="GET", path="/v1/openapi.json", raw=b"").json

    assert json.loads(taken.echo["body_text"])["stop"] == list("abcdef")
    assert (refused.status, refused.error["param"]) == (400, "stop")
    stop = document["components"]["schemas"]["ChatCompletionRequest"]["properties"]["stop"]
    assert [spelling["maxItems"] for spelling in stop["anyOf"] if "maxItems" in spelling] == [6]


def test_the_same_number_of_stop_sequences_is_allowed_in_messages(set_site: Site) -> None:
    caller = set_site.caller()

    taken, refused = (
        caller.ask("Hello", path="/v1/messages", max_tokens=9, stop_sequences=list(sequences))
        for sequences in ("abcdef", "abcdefg")
    )

    assert taken.status == 200, taken.body
    assert (refused.status, refused.json["error"]["param"]) == (400, "stop_sequences")


def tool_answer(call_id: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": "42"}


USER = {"role": "user", "content": "What is it?"}
TOOL_CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
ASKS = {"role": "assistant", "content": None, "tool_calls": [TOOL_CALL]}


@pytest.mark.parametrize(
    ("messages", "param"),
    [
        ([USER, ASKS, tool_answer("c1"), USER], None),
        ([USER, ASKS, tool_answer("c1"), tool_answer("c1")], None),
        ([USER, ASKS, tool_answer("c2")], "messages[2].tool_call_id"),
        ([USER, tool_answer("c1"), ASKS], "messages[1].tool_call_id"),
        ([USER, tool_answer("c1")], "messages[1].tool_call_id"),
    ],
)
def test_answers_of_tools_can_be_held_to_a_call(
    set_site: Site, messages: list[Any], param: str | None
) -> None:
    answer = set_site.caller().ask(messages=messages)

    found = answer.error["param"] if answer.status == 400 else None
    assert (answer.status, found) == (200 if param is None else 400, param)


def test_by_default_answers_of_tools_are_taken_as_they_are(site: Site) -> None:
    assert site.caller().ask(messages=[USER, tool_answer("c9")]).status == 200


def shorthand(kind: str, native: str) -> str:
    return f"tensorzero::model_name::{kind}::{native}"


@pytest.mark.parametrize(
    ("name", "model", "native"),
    [
        (shorthand("together", "shared"), "its-twin", "shared"),
        (shorthand("vllm", "second"), "two-ways", "second"),
        ("together::shared", "together::shared", "together::shared"),
        ("tensorzero::model_name::two-ways", "two-ways", "shared"),
    ],
)
def test_a_provider_can_be_named_with_its_own_name_for_a_model(
    set_site: Site, name: str, model: str, native: str
) -> None:
    answer = set_site.caller().ask("script:echo", model=name)

    assert json.loads(answer.echo["body_text"])["model"] == native
    assert answer.json["model"] == answer.headers["x-model-used"] == model
    record = set_site.record(answer.call_id)
    assert (record["requested_model"], record["model"]) == (name, model)
    assert record["charge_nusd"] > 0


@pytest.mark.parametrize(
    "name",
    [
        shorthand("together", "dearer-than-all"),
        shorthand("mistral", "large"),
        shorthand("openai", "gpt-4o"),
        shorthand("together", ""),
        "together::second",
    ],
)
def test_what_nobody_has_priced_or_named_is_not_served(set_site: Site, name: str) -> None:
    answer = set_site.caller().ask(model=name)

    assert (answer.status, answer.error["code"]) == (404, "model_not_found")
    assert set_site.tries(answer.call_id) == []


def test_a_shorthand_leads_no_key_past_its_models(set_site: Site) -> None:
    narrow = set_site.caller(allowed_models=["two-ways"])

    refused = narrow.ask(model=shorthand("together", "shared"))

    assert (refused.status, refused.error["code"]) == (403, "model_not_allowed")
    assert narrow.ask(model=shorthand("vllm", "second")).status == 200
