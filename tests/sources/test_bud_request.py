"""Bud, the request: items S1-01 to S1-28 and S1-44 to S1-48."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.flows.caller import DONE
from tests.flows.site import Site
from tests.sources.product import Client, client_of

PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "age": {"type": "integer"},
        "email": {"type": "string", "format": "email"},
    },
    "required": ["name", "age"],
}
JPEG = b"\xff\xd8\xff\xe0" + b"\0" * 40
PDF = b"%PDF-1.4\n1 0 obj\n"


def data_url(kind: str, content: bytes) -> str:
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"


def assert_refused(client: Client, param: str, **members: Any) -> None:
    """Assert a 400 in Bud's form that names the member at fault."""
    answer = client.ask(**members)
    assert answer.status == 400, answer.body
    assert (answer.error["type"], answer.error["code"]) == ("invalid_request_error", 400)
    assert answer.error["param"] == param


def test_S1_01_json_in_and_out(bud: Client) -> None:
    answer = bud.ask(path="/v1/chat/completions")
    text = bud.ask(headers={"content-type": "text/plain"})

    assert (answer.status, answer.headers["content-type"]) == (200, "application/json")
    assert (text.status, text.error["param"]) == (400, "Content-Type")


def test_S1_02_a_bearer_key_or_the_bare_key(bud: Client) -> None:
    bare = bud.ask(headers={"authorization": bud.secret})
    other_scheme = bud.ask(headers={"authorization": f"Basic {bud.secret}"})

    assert bare.status == 200
    assert other_scheme.status == 401
    assert other_scheme.headers["www-authenticate"] == "Bearer"


def test_S1_03_a_model_may_be_a_deployment_or_a_route_of_several(bud: Client) -> None:
    deployed = bud.sent(model="vllm_model")
    routed = bud.ask(model="two-ways")

    assert deployed["model"] == "vllm_model"
    assert (routed.status, routed.json["model"]) == (200, "two-ways")


def test_S1_04_messages_are_required(bud: Client) -> None:
    assert_refused(bud, "messages", messages=[])
    assert_refused(bud, "messages", messages=None)


def test_S1_05_temperature_lies_between_0_and_2_and_is_the_models_by_default(bud: Client) -> None:
    assert bud.sent(temperature=2)["temperature"] == 2
    assert "temperature" not in bud.sent()
    assert_refused(bud, "temperature", temperature=2.01)


def test_S1_06_two_names_for_the_limit_and_the_smaller_wins(bud: Client) -> None:
    assert bud.sent(max_tokens=7)["max_tokens"] == 7
    assert bud.sent(max_completion_tokens=7)["max_completion_tokens"] == 7
    both = bud.sent(max_tokens=9, max_completion_tokens=7)
    assert {both.get("max_tokens"), both.get("max_completion_tokens")} == {7, None}
    assert "max_tokens" not in bud.sent()


def test_S1_07_top_p_is_the_models_by_default(bud: Client) -> None:
    assert bud.sent(top_p=0.3)["top_p"] == 0.3
    assert "top_p" not in bud.sent()


@pytest.mark.parametrize("name", ["frequency_penalty", "presence_penalty"])
def test_S1_08_penalties_lie_between_minus_2_and_2(bud: Client, name: str) -> None:
    assert bud.sent(**{name: -2})[name] == -2
    assert_refused(bud, name, **{name: 2.5})


def test_S1_09_seed_is_an_integer_or_null(bud: Client) -> None:
    assert bud.sent(seed=7)["seed"] == 7
    assert bud.ask(seed=None).status == 200
    assert_refused(bud, "seed", seed=1.5)


def test_S1_10_stream_defaults_to_false(bud: Client) -> None:
    assert bud.ask().headers["content-type"] == "application/json"
    assert bud.ask(stream=None).headers["content-type"] == "application/json"


def test_S1_11_stream_options_are_an_object_or_null(bud: Client) -> None:
    assert bud.ask(stream=True, stream_options=None).status == 200
    assert bud.ask(stream=False, stream_options={"include_usage": True}).status == 200
    assert_refused(bud, "stream_options", stream_options=True)


def test_S1_12_logprobs_are_off_until_asked_for(bud: Client) -> None:
    silent = bud.ask().json["choices"][0]
    asked = bud.ask(logprobs=True, top_logprobs=2).json["choices"][0]

    assert silent["logprobs"] is None
    assert len(asked["logprobs"]["content"][0]["top_logprobs"]) == 2
    assert_refused(bud, "top_logprobs", logprobs=True, top_logprobs=21)
    assert_refused(bud, "top_logprobs", top_logprobs=2)


def test_S1_13_response_format_is_an_object_or_null(bud: Client) -> None:
    wanted = {"type": "json_schema", "json_schema": {"name": "person", "schema": PERSON}}

    assert bud.sent(response_format=wanted)["response_format"] == wanted
    assert bud.ask(response_format=None).status == 200
    assert_refused(bud, "response_format", response_format="json")


def test_S1_13_the_deprecated_form_has_the_schema_itself(bud: Client) -> None:
    deprecated = {"type": "json_schema", "json_schema": PERSON}

    sent = bud.sent(response_format=deprecated)["response_format"]

    usual = {"name": "response", "schema": PERSON}
    assert sent == {"type": "json_schema", "json_schema": usual}
    abroad = {**deprecated, "json_schema": {"type": "object", "items": {"$ref": "http://x/"}}}
    assert_refused(bud, "response_format.json_schema", response_format=abroad)


def test_S1_14_tools_and_how_to_choose_among_them(bud: Client) -> None:
    tool = {"type": "function", "function": {"name": "f"}}

    sent = bud.sent(tools=[tool], tool_choice="auto", parallel_tool_calls=False)

    assert (sent["tools"], sent["tool_choice"]) == ([tool], "auto")
    assert sent["parallel_tool_calls"] is False
    assert bud.ask(tools=None, tool_choice=None, parallel_tool_calls=None).status == 200
    assert_refused(
        bud,
        "tool_choice.function.name",
        tools=[tool],
        tool_choice={"type": "function", "function": {"name": "g"}},
    )


def test_S1_15_a_chat_template_takes_a_permission_and_vllm(site: Site, bud: Client) -> None:
    trusted = client_of(site, "bud", model="vllm_model")
    site.office.do(
        "compatibility",
        key_id=trusted.key_id,
        compat_profile="bud",
        allows_chat_template=True,
    )

    assert trusted.sent(chat_template="{{ x }}")["chat_template"] == "{{ x }}"
    assert_refused(trusted.with_(model="qwen3-4b"), "chat_template", chat_template="x")
    refused = bud.ask(model="vllm_model", chat_template="x")
    assert (refused.status, refused.error["param"]) == (403, "chat_template")


def assert_an_object_for_vllm(client: Client, name: str, value: dict[str, Any]) -> None:
    """Assert that an object reaches vLLM as it is, and that nobody else is sent it."""
    assert client.sent(model="vllm_model", **{name: value})[name] == value
    assert_refused(client, name, model="vllm_model", **{name: "x"})
    assert_refused(client, name, **{name: value})


def test_S1_16_chat_template_kwargs(bud: Client) -> None:
    assert_an_object_for_vllm(bud, "chat_template_kwargs", {"enable_thinking": True})


def test_S1_17_mm_processor_kwargs(bud: Client) -> None:
    assert_an_object_for_vllm(bud, "mm_processor_kwargs", {"num_crops": 4})


def sent_both_ways(client: Client, **members: Any) -> Iterator[dict[str, Any]]:
    """Yield what reaches a vLLM of the older dialect, then one of the newer."""
    for model in ("old-vllm", "vllm_model"):
        yield client.sent(model=model, **members)


def assert_guided(client: Client, name: str, word: str, value: Any, wrong: Any) -> None:
    """Assert that a constraint reaches vLLM in both its spellings."""
    older, newer = sent_both_ways(client, **{name: value})
    assert older[name] == value
    assert "structured_outputs" not in older
    assert newer["structured_outputs"] == {word: value}
    assert name not in newer
    assert_refused(client, name, model="vllm_model", **{name: wrong})


def test_S1_18_guided_json_is_a_schema(bud: Client) -> None:
    assert_guided(bud, "guided_json", "json", PERSON, {"type": "nonsense"})
    elsewhere = bud.sent(guided_json=PERSON)
    assert elsewhere["response_format"]["json_schema"]["schema"] == PERSON
    assert "guided_json" not in elsewhere


def test_S1_19_guided_regex_is_an_expression(bud: Client) -> None:
    assert_guided(bud, "guided_regex", "regex", "[a-z]+", "x" * 4097)
    assert_refused(bud, "guided_regex", guided_regex="[a-z]+")
    for model in ("old-vllm", "vllm_model"):
        refused = bud.ask(model=model, guided_regex="[a-z")  # the provider judges it
        assert refused.status == 400
        assert "does not compile" in refused.error["message"]


def test_S1_20_guided_choice_is_a_list_of_texts(bud: Client) -> None:
    assert_guided(bud, "guided_choice", "choice", ["yes", "no"], [])
    assert_refused(bud, "guided_choice", stream=True, guided_choice=["yes", "no"])


def test_S1_21_guided_grammar_is_a_text(bud: Client) -> None:
    assert_guided(bud, "guided_grammar", "grammar", 'root ::= "a"', "")
    assert_refused(bud, "guided_grammar", guided_grammar='root ::= "a"')


def test_S1_22_structural_tag_is_json_in_a_text(bud: Client) -> None:
    tag = '{"type":"structural_tag"}'
    assert_guided(bud, "structural_tag", "structural_tag", tag, "no json")
    assert_refused(bud, "structural_tag", structural_tag=tag)


def test_S1_23_the_backend_has_no_place_in_newer_vllm(bud: Client) -> None:
    members = {"guided_regex": "a", "guided_decoding_backend": "xgrammar"}

    older, newer = sent_both_ways(bud, **members)
    answer = bud.ask(model="vllm_model", **members)

    assert older["guided_decoding_backend"] == "xgrammar"
    assert "guided_decoding_backend" not in newer
    assert answer.headers["x-dropped-params"] == "guided_decoding_backend"
    assert_refused(
        bud, "guided_decoding_backend", model="vllm_model", guided_decoding_backend="magic"
    )


def test_S1_24_whitespace_pattern_goes_with_a_schema(bud: Client) -> None:
    older, newer = sent_both_ways(bud, guided_json=PERSON, guided_whitespace_pattern=r"\s?")

    assert older["guided_whitespace_pattern"] == r"\s?"
    assert newer["structured_outputs"] == {"json": PERSON, "whitespace_pattern": r"\s?"}


def test_S1_25_messages_have_these_members(bud: Client) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    messages = [
        {"role": "system", "content": [{"type": "text", "text": "Be brief."}]},
        {"role": "user", "content": "x"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "42"}]},
        {"role": "user", "content": [{"type": "text", "text": "script:echo"}]},
    ]

    assert bud.sent(messages=messages)["messages"] == messages
    assert_refused(bud, "messages[0].tool_call_id", messages=[{"role": "tool", "content": "x"}])


def user(*blocks: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the messages of one user who says these blocks and wants to see what arrives."""
    return [{"role": "user", "content": [*blocks, {"type": "text", "text": "script:echo"}]}]


def test_S1_26_text_blocks(bud: Client) -> None:
    messages = [{"role": "user", "content": [{"type": "text", "text": "script:echo"}]}]

    assert bud.sent(messages=messages)["messages"] == messages
    assert_refused(
        bud,
        "messages[0].content[0].text",
        messages=[{"role": "user", "content": [{"type": "text"}]}],
    )


@pytest.mark.parametrize("url", ["https://93.184.215.14/image.jpg", data_url("image/jpeg", JPEG)])
def test_S1_27_image_blocks(bud: Client, url: str) -> None:
    messages = user({"type": "image_url", "image_url": {"url": url}})

    assert bud.sent(messages=messages)["messages"] == messages
    plain = user({"type": "image_url", "image_url": url})
    assert bud.sent(messages=plain)["messages"] == messages
    mislabelled = user({"type": "image_url", "image_url": {"url": data_url("image/png", JPEG)}})
    rightly = user({"type": "image_url", "image_url": {"url": data_url("image/jpeg", JPEG)}})
    assert bud.sent(messages=mislabelled)["messages"] == rightly


def test_S1_28_file_blocks(bud: Client) -> None:
    file = {"file_data": data_url("application/pdf", PDF), "filename": "document.pdf"}
    messages = user({"type": "file", "file": file})

    assert bud.sent(messages=messages)["messages"] == messages
    wrong = {"file_data": data_url("application/pdf", JPEG), "filename": "document.pdf"}
    assert_refused(
        bud,
        "messages[0].content[0].file.file_data",
        messages=user({"type": "file", "file": wrong}),
    )


def test_S1_44_the_plain_example(bud: Client) -> None:
    answer = bud.example(
        {
            "model": "qwen3-4b",
            "messages": [{"role": "user", "content": "Hello, how are you?"}],
        }
    )

    assert (answer.status, answer.json["model"]) == (200, "qwen3-4b")


def test_S1_46_the_example_of_guided_json(bud: Client) -> None:
    answer = bud.example(
        {
            "model": "tensorzero::model_name::vllm_model",
            "messages": [{"role": "user", "content": "script:echo"}],
            "guided_json": PERSON,
        }
    )

    assert (answer.status, answer.json["model"]) == (200, "vllm_model")
    sent = json.loads(answer.echo["body_text"])
    assert (sent["model"], sent["structured_outputs"]) == ("vllm_model", {"json": PERSON})


def test_S1_47_the_browser_client_that_reassembles_nothing(bud: Client) -> None:
    text = ""
    body = {"stream": True, "stream_options": {"include_usage": True}}

    with bud.begin("Tell me a story", **body) as call:
        # The example's own loop: each read is split into lines, none is carried over.
        while read := call.response.read1():
            for line in read.decode().split("\n"):
                if line.startswith("data: ") and line[6:] != DONE:
                    text += as_the_example_does(line[6:])

    assert text == "".join(f"tok{n} " for n in range(10))


def as_the_example_does(data: str) -> str:
    content: str | None = json.loads(data)["choices"][0]["delta"].get("content")
    return content or ""


def test_S1_48_the_example_of_an_image(bud: Client) -> None:
    answer = bud.example(
        {
            "model": "qwen2-7b-vl",
            "messages": [
                {
                    "role": "user",
                    "content": [
                        {"type": "text", "text": "What is in this image?"},
                        {"type": "image_url", "image_url": {"url": data_url("image/jpeg", JPEG)}},
                    ],
                }
            ],
        }
    )

    assert (answer.status, answer.json["model"]) == (200, "qwen2-7b-vl")


NULLABLE = (
    *("chat_template", "chat_template_kwargs", "mm_processor_kwargs", "guided_json"),
    *("guided_regex", "guided_choice", "guided_grammar", "structural_tag"),
    *("guided_decoding_backend", "guided_whitespace_pattern", "structured_outputs"),
)


@pytest.mark.parametrize("model", ["qwen3-4b", "vllm_model", "old-vllm"])
def test_null_is_absent_for_what_only_vllm_takes(bud: Client, model: str) -> None:
    answer = bud.ask("script:echo", model=model, **dict.fromkeys(NULLABLE))

    assert answer.status == 200, answer.body
    assert "x-dropped-params" not in answer.headers
    sent = json.loads(answer.echo["body_text"])
    assert not any(sent.get(name) for name in NULLABLE)
    assert model != "qwen3-4b" or sent.keys().isdisjoint(NULLABLE)
