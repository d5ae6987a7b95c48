"""Infery: items S2-01 to S2-29; files by id are in test_infery_files.py."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from tests.flows.caller import DONE
from tests.flows.site import INPUT_NUSD, OUTPUT_NUSD, Site
from tests.sources.product import Client
from tests.support.pdf import write_pdf

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 30
PDF = b"%PDF-1.7\n1 0 obj\n"
SOUNDS = {
    "wav": b"RIFF\x24\0\0\0WAVEfmt ",
    "mp3": b"ID3\x04\0\0\0\0\0\0",
    "pcm16": b"\0\1\0\2\0\3",
    "webm": b"\x1a\x45\xdf\xa3\x01\0\0\0",
}
WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather of a city.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
    },
}
NUSD_PER_CREDIT = 10**7
PAGES = write_pdf("One", "Two")
PAGE_NUSD = 10**6
ECHO = [{"role": "user", "content": "script:echo"}]


def b64(content: bytes) -> str:
    return base64.b64encode(content).decode()


def user(*blocks: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the messages of one user who says these blocks and wants to see what arrives."""
    return [{"role": "user", "content": [*blocks, {"type": "text", "text": "script:echo"}]}]


def assert_refused(client: Client, code: str, **members: Any) -> None:
    answer = client.ask(**members)
    assert (answer.status, answer.error["code"]) == (400, code), answer.body
    assert list(answer.error)[:3] == ["type", "code", "message"]


def test_S2_01_a_drop_in_endpoint(infery: Client) -> None:
    answer = infery.ask(path="/v1/chat/completions")

    assert (answer.status, answer.json["object"]) == (200, "chat.completion")


def test_S2_02_the_list_of_features(infery: Client) -> None:
    picture = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{b64(PNG)}"}}
    sound = {"type": "input_audio", "input_audio": {"data": b64(SOUNDS["wav"]), "format": "wav"}}
    paper = {"type": "file", "data": b64(PDF), "mime_type": "application/pdf"}

    answers = [
        infery.ask(stream=True),
        infery.ask(tools=[WEATHER]),
        infery.ask(response_format={"type": "json_object"}),
        *(infery.ask(messages=user(block)) for block in (picture, sound, paper)),
    ]

    assert [answer.status for answer in answers] == [200] * 6


def test_S2_03_streaming_is_opted_into(infery: Client) -> None:
    silent = infery.ask()
    answer = infery.ask(stream=True)

    assert silent.headers["content-type"] == "application/json"
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert all(frame.startswith("data: ") for frame in answer.frames)
    assert answer.body.endswith(b"\n\ndata: [DONE]\n\n")


def test_S2_04_the_last_chunk_has_usage_and_credits(infery: Client) -> None:
    answer = infery.ask("one two", stream=True)

    *_, before, last = answer.chunks
    assert answer.events[-1] == DONE
    assert last["usage"] == before["usage"]
    assert last["usage"]["total_tokens"] == 12
    assert last["credits_used"] > 0
    assert "credits_used" not in before


def test_S2_05_other_profiles_send_no_chunk_without_choices_unless_asked(site: Site) -> None:
    answer = site.caller().stream()

    assert all(chunk["choices"] for chunk in answer.chunks)
    assert answer.chunks[-1]["credits_used"] > 0


def test_S2_06_text_blocks(infery: Client) -> None:
    messages = user()

    assert infery.sent(messages=messages)["messages"] == messages


@pytest.mark.parametrize("url", ["http://93.184.215.14/a.png", f"data:image/png;base64,{b64(PNG)}"])
def test_S2_07_image_blocks(infery: Client, url: str) -> None:
    messages = user({"type": "image_url", "image_url": {"url": url}})

    assert infery.sent(messages=messages)["messages"] == messages


@pytest.mark.parametrize("form", SOUNDS)
def test_S2_08_audio_blocks(infery: Client, form: str) -> None:
    sound = {"data": b64(SOUNDS[form]), "format": form}
    messages = user({"type": "input_audio", "input_audio": sound})

    assert infery.sent(messages=messages)["messages"] == messages
    for wrong in ({**sound, "format": "ogg"}, {**sound, "data": "no base64!"}):
        block = {"type": "input_audio", "input_audio": wrong}
        assert infery.ask(messages=user(block)).status == 400


def test_S2_09_file_blocks_with_inline_data(infery: Client) -> None:
    block = {"type": "file", "data": b64(PDF), "mime_type": "application/pdf", "filename": "a.pdf"}
    nested = {"type": "file", "file": {name: block[name] for name in list(block)[1:]}}
    url = f"data:application/pdf;base64,{b64(PDF)}"

    for spelling in (block, nested):
        sent = infery.sent(messages=user(spelling))
        [file, _] = sent["messages"][0]["content"]
        assert file == {"type": "file", "file": {"filename": "a.pdf", "file_data": url}}
    wrong = {**block, "mime_type": "image/png"}
    assert_refused(infery, "invalid_file", messages=user(wrong))


def test_S2_10_an_unknown_file_id_is_400(infery: Client) -> None:
    for block in ({"file_id": "file-none"}, {"file": {"file_id": "file-none"}}):
        assert_refused(infery, "file_not_found", messages=user({"type": "file", **block}))


def test_S2_11_tool_calls_make_the_round_trip(infery: Client) -> None:
    question = {"role": "user", "content": "script:tools=1"}
    called = infery.ask(messages=[question], tools=[WEATHER], tool_choice="auto")
    message = called.json["choices"][0]["message"]
    [call] = message["tool_calls"]

    told = {"role": "tool", "tool_call_id": call["id"], "content": "Sunny."}
    answer = infery.ask(messages=[question, message, told], tools=[WEATHER])

    assert called.json["choices"][0]["finish_reason"] == "tool_calls"
    assert json.loads(call["function"]["arguments"]) == {"city": "Paris"}
    assert answer.json["choices"][0]["finish_reason"] == "stop"


@pytest.mark.parametrize(
    "form",
    [
        {"type": "json_object"},
        {
            "type": "json_schema",
            "json_schema": {"name": "city", "strict": True, "schema": {"type": "object"}},
        },
    ],
)
def test_S2_12_json_mode_and_structured_outputs(infery: Client, form: dict[str, Any]) -> None:
    assert infery.sent(response_format=form)["response_format"] == form


def test_S2_13_models_that_see_take_images(infery: Client) -> None:
    models = {model["id"]: model for model in infery.get("models").json["data"]}
    image = {"type": "image_url", "image_url": {"url": "https://93.184.215.14/a.png"}}

    assert models["seeing-model"]["supportsVision"] is True
    assert models["blind-model"]["supportsVision"] is False
    assert infery.ask(model="seeing-model", messages=user(image)).status == 200
    refused = {"model": "blind-model", "messages": user(image)}
    assert_refused(infery, "image_not_supported_by_model", **refused)


def test_S2_14_models_that_read_pdfs_take_them_as_they_are(infery: Client) -> None:
    models = {model["id"]: model for model in infery.get("models").json["data"]}
    url = f"data:application/pdf;base64,{b64(PDF)}"
    messages = user({"type": "file", "file": {"filename": "a.pdf", "file_data": url}})

    assert models["seeing-model"]["supportsPdf"] is True
    assert infery.sent(model="seeing-model", messages=messages)["messages"] == messages


def test_S2_15_other_models_get_the_pages_and_their_text(infery: Client) -> None:
    block = {"type": "file", "data": b64(PAGES), "mime_type": "application/pdf"}
    messages = [{"role": "user", "content": [block]}, *ECHO]

    seen = infery.sent(model="picture-model", messages=messages)["messages"][0]["content"]
    read = infery.sent(model="blind-model", messages=messages)["messages"][0]["content"]

    pages = ["[file.pdf — page 1/2]\nOne", "[file.pdf — page 2/2]\nTwo"]
    assert [part["type"] for part in seen] == ["text", "image_url"] * 2
    assert [part["text"] for part in seen[::2]] == pages
    assert all(
        part["image_url"]["url"].startswith("data:image/jpeg;base64,") for part in seen[1::2]
    )
    assert read == [{"type": "text", "text": text} for text in pages]
    block["data"] = b64(write_pdf(""))
    refused = {"model": "blind-model", "messages": messages}
    assert_refused(infery, "pdf_not_supported_by_model", **refused)


def test_S2_16_each_page_made_into_a_picture_costs_a_small_fee(site: Site, infery: Client) -> None:
    block = {"type": "file", "data": b64(PAGES), "mime_type": "application/pdf"}
    messages = [{"role": "user", "content": [block]}, {"role": "user", "content": "Well?"}]

    answer = infery.ask(model="picture-model", messages=messages)

    usage = answer.json["usage"]
    tokens_nusd = usage["prompt_tokens"] * INPUT_NUSD + usage["completion_tokens"] * OUTPUT_NUSD
    charge_nusd = tokens_nusd + 2 * PAGE_NUSD
    assert usage["cost"] == charge_nusd / 10**9
    assert answer.json["credits_used"] == pytest.approx(charge_nusd / NUSD_PER_CREDIT, abs=1e-4)
    site.record(answer.call_id)
    told = infery.get(f"generation?id={answer.call_id}").json["data"]
    assert told["tool_costs_micro_usd"] == {"pdf": "2000"}


def test_S2_17_the_full_set_of_parameters(infery: Client) -> None:
    members = {
        "temperature": 0.5,
        "top_p": 0.9,
        "presence_penalty": 0.1,
        "frequency_penalty": -0.1,
        "max_tokens": 50,
        "stop": ["END"],
        "seed": 7,
        "tools": [WEATHER],
        "tool_choice": "none",
        "response_format": {"type": "text"},
    }

    sent = infery.sent(**members)

    assert {name: sent[name] for name in members} == members


def test_S2_18_top_k_reaches_providers_that_take_it(infery: Client) -> None:
    assert infery.sent(top_k=40)["top_k"] == 40
    assert_refused(infery, "invalid_request", top_k=-1)


@pytest.mark.parametrize(
    ("name", "edges", "beyond"),
    [
        ("temperature", (0, 2), (-0.01, 2.01)),
        ("top_p", (0, 1), (-0.01, 1.01)),
        ("presence_penalty", (-2, 2), (-2.01, 2.01)),
        ("frequency_penalty", (-2, 2), (-2.01, 2.01)),
    ],
)
def test_S2_19_ranges(
    infery: Client, name: str, edges: tuple[Any, ...], beyond: tuple[Any, ...]
) -> None:
    assert [infery.ask(**{name: value}).status for value in edges] == [200, 200]
    assert [infery.ask(**{name: value}).status for value in beyond] == [400, 400]


def test_S2_20_what_a_provider_does_not_take_is_named(site: Site, infery: Client) -> None:
    site.office.do(
        "provider",
        name="openai-2",
        kind="openai",
        base_url=site.upstream.base_url,
        credential="sk-canary-2",
    )
    model = site.add_model("gemini-less", provider="openai-2")

    answer = infery.ask("script:echo", model=model, top_k=40, seed=7, presence_penalty=1)

    sent = json.loads(answer.echo["body_text"])
    assert (sent["seed"], sent["presence_penalty"]) == (7, 1)
    assert "top_k" not in sent
    assert answer.headers["x-dropped-params"] == "top_k"


def test_S2_21_every_answer_has_a_request_id(infery: Client) -> None:
    answers = [infery.ask(), infery.ask(stream=True), infery.ask(temperature=9)]

    assert len({answer.headers["x-request-id"] for answer in answers}) == 3


def test_S2_22_credits_used_is_a_header_of_buffered_answers(infery: Client) -> None:
    buffered = infery.ask("one two")
    streamed = infery.ask(stream=True)

    cost_nusd = 2 * INPUT_NUSD + 10 * OUTPUT_NUSD
    credits_used = buffered.json["credits_used"]
    assert 0 <= credits_used - cost_nusd / NUSD_PER_CREDIT < 0.0001
    assert json.loads(buffered.headers["x-credits-used"]) == credits_used
    assert "x-credits-used" not in streamed.headers


def test_S2_23_model_used_is_always_named(infery: Client) -> None:
    assert infery.ask().headers["x-model-used"] == "gpt-4o"
    assert infery.ask(stream=True).headers["x-model-used"] == "gpt-4o"


def test_S2_25_the_key_comes_as_a_bearer(infery: Client) -> None:
    wrong = infery.with_(secret="inf_none").ask()

    assert infery.ask().status == 200
    assert (wrong.status, wrong.error["code"]) == (401, "invalid_api_key")


@pytest.mark.parametrize("name", ["x-request-id", "x-client-request-id"])
def test_S2_26_a_request_may_bring_an_id_of_its_own(site: Site, infery: Client, name: str) -> None:
    answer = infery.ask(headers={name: "job-17"})

    assert answer.headers["x-client-request-id"] == "job-17"
    assert answer.headers["x-request-id"] != "job-17"
    assert site.record(answer.call_id)["client_request_id"] == "job-17"
    for path, status in (("/v1/models", 200), ("/v1/models/none", 404), ("/v1/nowhere", 404)):
        beside = infery.ask(method="GET", path=path, raw=b"", headers={name: "job-18"})
        assert (beside.status, beside.headers["x-client-request-id"]) == (status, "job-18")


def test_S2_28_models_have_plain_names(infery: Client) -> None:
    assert infery.ask(model="gpt-4o").json["model"] == "gpt-4o"


def test_S2_29_answers_and_chunks_have_their_schema(infery: Client) -> None:
    buffered = infery.ask().json
    streamed = infery.ask(stream=True)

    assert buffered["object"] == "chat.completion"
    assert buffered["credits_used"] > 0
    assert {chunk["object"] for chunk in streamed.chunks} == {"chat.completion.chunk"}


@pytest.mark.parametrize("stream", [False, True])
def test_S2_24_a_fallback_that_served_is_named(site: Site, infery: Client, stream: bool) -> None:
    asked = {"model": "nowhere-model", "models": ["gpt-4o", "qwen3-4b"], "stream": stream}
    answer = infery.ask("script:fail=503&fail_times=1", **asked)

    assert answer.headers["x-model-used"] == "qwen3-4b"
    assert answer.headers["x-fallback-from"] == "nowhere-model"
    assert answer.headers["x-fallback-depth"] == "2"
    site.record(answer.call_id)
    told = infery.get(f"generation?id={answer.call_id}").json["data"]
    assert (told["model"], told["fallback_from"]) == ("qwen3-4b", "nowhere-model")
    assert told["fallback_depth"] == 2


def test_S2_24_nothing_is_said_of_a_fallback_where_none_served(site: Site, infery: Client) -> None:
    for answer in (infery.ask(), infery.ask(stream=True), infery.ask(model="two-ways")):
        assert answer.status == 200
        assert not {"x-fallback-from", "x-fallback-depth"} & answer.headers.keys()
        site.record(answer.call_id)
        told = infery.get(f"generation?id={answer.call_id}").json["data"]
        assert (told["fallback_from"], told["fallback_depth"]) == (None, 0)
