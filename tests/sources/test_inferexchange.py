"""InferExchange: items S4-01 to S4-15."""

from __future__ import annotations

import json
import subprocess
from typing import Any

from tests.flows.caller import DONE
from tests.flows.site import INPUT_NUSD, OUTPUT_NUSD, Site
from tests.sources.product import Client
from tests.support.require import require_binary


def test_S4_01_the_endpoint_is_under_api_v1(inferexchange: Client) -> None:
    answer = inferexchange.ask(path="/api/v1/chat/completions")

    assert (answer.status, answer.json["object"]) == (200, "chat.completion")


def test_S4_02_the_model_is_required(inferexchange: Client) -> None:
    unknown = inferexchange.ask(model="no-such-model")
    missing = inferexchange.ask(model=None)

    assert inferexchange.ask(model="llama-3.1-8b").json["model"] == "llama-3.1-8b"
    assert (unknown.status, unknown.error["code"]) == (404, "NOT_FOUND")
    assert unknown.error["details"]["code"] == "model_not_found"
    assert (missing.status, missing.error["code"]) == (400, "VALIDATION_ERROR")


def test_S4_03_messages_are_a_list_and_required(inferexchange: Client) -> None:
    assert inferexchange.ask(messages=None).error["param"] == "messages"
    assert inferexchange.ask(messages="hello").error["param"] == "messages"


def assert_left_to_the_model(client: Client, name: str, most: int) -> None:
    """Assert the range of a parameter, and that nothing is sent where nothing was said."""
    assert name not in client.sent()
    assert client.sent(**{name: most})[name] == most
    beyond: dict[str, Any] = {name: most + 0.1}
    refused = client.ask(**beyond)
    assert (refused.status, refused.error["param"]) == (400, name)


def test_S4_04_temperature_lies_between_0_and_2(inferexchange: Client) -> None:
    assert_left_to_the_model(inferexchange, "temperature", 2)


def test_S4_05_max_tokens(inferexchange: Client) -> None:
    answer = inferexchange.ask(max_tokens=3)

    assert answer.json["usage"]["completion_tokens"] == 3
    assert answer.json["choices"][0]["finish_reason"] == "length"


def test_S4_06_stream_is_false_by_default(inferexchange: Client) -> None:
    assert inferexchange.ask().headers["content-type"] == "application/json"
    assert inferexchange.ask(stream=True).headers["content-type"].startswith("text/event-stream")


def test_S4_07_top_p_lies_between_0_and_1(inferexchange: Client) -> None:
    assert_left_to_the_model(inferexchange, "top_p", 1)


def test_S4_08_stop_is_a_text_or_a_list(inferexchange: Client) -> None:
    assert inferexchange.sent(stop="END")["stop"] == "END"
    assert inferexchange.sent(stop=["END", "."])["stop"] == ["END", "."]


def test_S4_09_messages_have_a_role_and_content(inferexchange: Client) -> None:
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "assistant", "content": "Yes."},
        {"role": "user", "content": "script:echo"},
    ]
    silent = inferexchange.ask(messages=[{"role": "user"}])

    assert inferexchange.sent(messages=messages)["messages"] == messages
    assert (silent.status, silent.error["param"]) == (400, "messages[0].content")


def test_S4_10_the_key_comes_as_a_bearer(inferexchange: Client) -> None:
    # The prefix alone tells whose client an unknown key belongs to.
    wrong = inferexchange.with_(secret="sk-infer-none").ask()

    assert inferexchange.ask().status == 200
    assert (wrong.status, wrong.error["code"]) == (401, "UNAUTHORIZED")
    assert wrong.headers["x-compat-profile"] == "inferexchange"


def test_S4_11_the_answer(inferexchange: Client) -> None:
    answer = inferexchange.ask("one two")
    said = answer.json

    assert said["id"] == f"chatcmpl-{answer.call_id}"
    assert said["object"] == "chat.completion"
    [choice] = said["choices"]
    assert (choice["index"], choice["finish_reason"]) == (0, "stop")
    assert said["usage"]["total_tokens"] == 12
    assert said["system_fingerprint"] is None


def test_S4_12_frames_are_full_where_the_sample_is_bare(inferexchange: Client) -> None:
    answer = inferexchange.ask("script:text=Hello+there", stream=True)

    assert answer.text == "Hello there"
    assert all({"id", "object", "created", "model"} <= set(chunk) for chunk in answer.chunks)
    assert answer.chunks[-1]["choices"][0]["finish_reason"] == "stop"
    assert answer.events[-1] == DONE


def test_S4_12_a_provider_whose_frames_are_as_bare_as_the_samples(
    site: Site, inferexchange: Client
) -> None:
    site.office.do(
        "provider",
        name="bare",
        kind="inferexchange",
        base_url=site.upstream.base_url,
        credential="sk-infer-test",
    )
    bare = inferexchange.with_(model=site.add_model("bare-model", provider="bare"))
    tool = {"type": "function", "function": {"name": "get_weather"}}

    said = bare.ask("script:text=Hello+there&finish=null", stream=True)
    called = bare.ask("script:tools=1&finish=null", stream=True, tools=[tool])
    silent = bare.ask("script:tokens=0&finish=null", stream=True)
    cut = bare.ask("script:text=Hello+there&truncate", stream=True)
    elsewhere = inferexchange.ask("script:text=Hello+there&finish=null", stream=True)

    assert said.text == "Hello there"
    assert said.chunks[-1]["choices"][0]["finish_reason"] == "stop"
    assert called.chunks[-1]["choices"][0]["finish_reason"] == "tool_calls"
    for broken in (cut, elsewhere):
        assert (broken.text, "error" in broken.chunks[-1]) == ("Hello there", True)
    assert silent.status == 502 or "error" in silent.chunks[-1]


def test_S4_13_curl_without_buffering(inferexchange: Client) -> None:
    body = {
        "model": "llama-3.1-8b",
        "messages": [{"role": "user", "content": "Hello"}],
        "stream": True,
    }

    done = subprocess.run(
        [
            *(require_binary("curl", package="curl"), "--silent", "--no-buffer", "-X", "POST"),
            f"http://127.0.0.1:{inferexchange.port}{inferexchange.path}",
            *("-H", f"Authorization: Bearer {inferexchange.secret}"),
            *("-H", "Content-Type: application/json", "-d", json.dumps(body)),
        ],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )

    assert done.stdout.startswith("data: {")
    assert done.stdout.endswith("\n\ndata: [DONE]\n\n")


def test_S4_14_prompt_and_completion_are_billed_by_the_models_prices(
    site: Site, inferexchange: Client
) -> None:
    before = site.balance_nusd(inferexchange)
    [model] = [
        model for model in inferexchange.get("models").json["data"] if model["id"] == "llama-3.1-8b"
    ]

    answer = inferexchange.ask("one two three")

    charge_nusd = site.record(answer.call_id)["charge_nusd"]
    assert charge_nusd == 3 * INPUT_NUSD + 10 * OUTPUT_NUSD
    assert before - site.balance_nusd(inferexchange) == charge_nusd
    assert (model["pricing"]["prompt"], model["pricing"]["completion"]) == (1.0, 2.0)
    assert model["pricing"]["unit"] == "per_million_tokens"


def test_S4_15_the_example_request(inferexchange: Client) -> None:
    answer = inferexchange.example(
        {
            "model": "llama-3.1-8b",
            "messages": [
                {"role": "system", "content": "You are a helpful assistant."},
                {"role": "user", "content": "What is machine learning?"},
            ],
            "temperature": 0.7,
            "max_tokens": 500,
        }
    )

    assert (answer.status, answer.json["model"]) == (200, "llama-3.1-8b")
