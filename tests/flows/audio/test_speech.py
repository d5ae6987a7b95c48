"""POST /audio/speech: a file as it comes, or events with it."""

from __future__ import annotations

from base64 import b64decode

import pytest

from tests.fakes.openai.audio import PIECE_BYTES, sound
from tests.flows.audio.asking import PRICES, add_model, ask, ask_scripted, request_of
from tests.flows.caller import Caller
from tests.flows.site import INPUT_NUSD, NUSD_PER_USD, OUTPUT_NUSD, Site
from tests.flows.transports import both_transports, named


@both_transports
def test_the_file_comes_as_the_provider_sent_it(site: Site, caller: Caller) -> None:
    answer = ask_scripted(caller, "speech", "tokens=50&chunk_bytes=7")

    assert (answer.status, answer.is_whole) == (200, True)
    assert answer.body == sound(50)
    assert answer.headers["content-type"] == "audio/mpeg"
    record = site.record(answer.call_id)
    characters = len("script:tokens=50&chunk_bytes=7")
    assert record["charge_nusd"] == characters * PRICES["character"] // 1000
    assert record["charge_basis"] == "usage"


@both_transports
def test_long_files_come_whole(caller: Caller, transport: str) -> None:
    assert ask_scripted(caller, "speech", "tokens=400").body == sound(400)


@pytest.mark.parametrize(
    ("form", "media_type"),
    [("wav", "audio/wav"), ("pcm", "audio/pcm"), ("opus", "audio/ogg"), ("flac", "audio/flac")],
)
def test_the_type_is_that_of_the_form(caller: Caller, form: str, media_type: str) -> None:
    answer = ask(caller, "speech", response_format=form, speed=1.5, instructions="Whisper.")

    assert (answer.status, answer.headers["content-type"]) == (200, media_type)


@both_transports
def test_events_have_the_same_file_and_its_cost(site: Site, caller: Caller) -> None:
    answer = ask_scripted(caller, "speech", "tokens=5", stream_format="sse")

    *deltas, done = answer.events
    assert b"".join(b64decode(one["audio"]) for one in deltas) == sound(5)
    assert {one["type"] for one in deltas} == {"speech.audio.delta"}
    charge_nusd = site.record(answer.call_id)["charge_nusd"]
    assert done["usage"]["cost"] == charge_nusd / NUSD_PER_USD > 0
    assert done["usage"]["characters"] == len("script:tokens=5")


@pytest.mark.parametrize("stream_format", ["audio", "sse"])
def test_tokens_are_charged_where_they_have_a_price(site: Site, stream_format: str) -> None:
    name = f"tokens-{stream_format}"
    model = site.add_model(
        name, provider="audio-openai", native_model="gpt-4o-mini-tts", max_output_tokens=1000
    )
    caller = site.caller().with_(model=model)

    answer = ask_scripted(caller, "speech", "tokens=12", stream_format=stream_format)

    [entry] = site.tries(answer.call_id)
    record = site.record(answer.call_id)
    expected_nusd = entry["prompt_tokens"] * INPUT_NUSD + 12 * OUTPUT_NUSD
    assert record["charge_nusd"] == expected_nusd
    assert (record["charge_basis"], record["completion_tokens"]) == ("usage", 12)
    if stream_format == "audio":
        assert answer.body == sound(12)


@both_transports
@pytest.mark.parametrize("fault", ["reset_after=3", "close_after=3", "reset_at_byte=2"])
def test_a_file_that_breaks_off_is_seen_to(site: Site, caller: Caller, fault: str) -> None:
    answer = ask_scripted(caller, "speech", f"tokens=9&{fault}")

    assert not answer.is_whole
    assert sound(9).startswith(answer.body)
    assert b"error" not in answer.body
    record = site.record(answer.call_id)
    assert (record["charge_nusd"], record["charge_basis"]) == (0, "zero_upstream")


@both_transports
@pytest.mark.parametrize(
    "script", ["tokens=0", "fail=500", "drop=close", "truncate_after=0", "reset_after=0"]
)
def test_what_is_no_sound_is_the_providers_fault(caller: Caller, script: str) -> None:
    answer = ask_scripted(caller, "speech", script)

    assert (answer.status, answer.error["code"]) == (502, "provider_unavailable"), answer.body


def test_a_repeated_key_gets_the_same_file(site: Site, caller: Caller) -> None:
    headers = {"idempotency-key": "once"}

    first = ask(caller, "speech", headers=headers)
    again = ask(caller, "speech", headers=headers)

    assert (first.status, again.body) == (200, first.body)
    assert again.headers["content-type"] == "audio/mpeg"
    charge_nusd = site.record(first.call_id)["charge_nusd"]
    assert site.balance_nusd(caller) == NUSD_PER_USD - charge_nusd


@both_transports
def test_a_caller_who_leaves_pays_for_the_text(site: Site, caller: Caller) -> None:
    members = request_of(caller, "speech", input="script:tokens=9&stall_after=3")
    live = caller.begin(**members)
    running = site.running(caller, count=1)[0]
    site.wait_for_try(str(running["id"]), state="running")

    live.leave()

    record = site.record(str(running["id"]))
    assert (record["status"], record["charge_basis"]) == ("cancelled", "estimate")
    assert record["charge_nusd"] > 0


@both_transports
@pytest.mark.parametrize(
    ("form", "tokens"),
    [("mp3", 25), ("opus", 50), ("aac", 25), ("flac", 13), ("wav", 9), ("pcm", 9)],
)
def test_a_caller_who_leaves_pays_for_the_speech_so_far(
    site: Site, audio_model: str, transport: str, form: str, tokens: int
) -> None:
    """25 pieces are so many tokens: each is one of MP3, and other types have other rates."""
    provider = named("audio-openai", transport)
    model = site.add_model(
        f"left-{form}-{transport}",
        provider=provider,
        native_model="gpt-4o-mini-tts",
        max_output_tokens=1000,
        input_pusd=0,
    )
    caller = site.caller().with_(model=model)
    said = "script:tokens=99&stall_after=25"
    live = caller.begin(**request_of(caller, "speech", input=said, response_format=form))
    assert live.response.read(25 * PIECE_BYTES)

    live.leave()

    record = site.record(live.call_id)
    assert (record["status"], record["charge_basis"]) == ("cancelled", "estimate")
    assert record["completion_tokens"] == tokens
    assert record["charge_nusd"] == tokens * OUTPUT_NUSD


def test_tokens_of_a_file_are_counted_where_they_are_not_told(site: Site) -> None:
    address = f"{site.upstream.origin}/groq/v1"
    site.office.do("provider", name="file", kind="groq", base_url=address, credential="sk-x")
    model = site.add_model(
        "file", provider="file", native_model="tts", max_output_tokens=1000, input_pusd=0
    )

    answer = ask_scripted(site.caller().with_(model=model), "speech", "tokens=12")

    record = site.record(answer.call_id)
    assert (record["charge_basis"], record["completion_tokens"]) == ("estimate", 12)
    assert record["charge_nusd"] == 12 * OUTPUT_NUSD


@pytest.mark.parametrize("form", ["mp3", "wav", "pcm"])
def test_the_simulated_model_speaks(caller: Caller, form: str) -> None:
    model = "tollhouse/simulated"

    answer = ask(caller.with_(model=model), "speech", response_format=form)
    events = ask(caller.with_(model=model), "speech", response_format=form, stream_format="sse")

    assert (answer.status, bool(answer.body)) == (200, True)
    pieces = [b64decode(one["audio"]) for one in events.events[:-1]]
    assert b"".join(pieces) == answer.body


def test_a_fallback_model_speaks_when_the_provider_fails(caller: Caller) -> None:
    answer = ask_scripted(caller, "speech", "fail=503", models=["tollhouse/simulated"])

    assert answer.status == 200
    assert answer.headers["x-fallback-from"] == "audio"


@pytest.mark.parametrize(
    ("members", "param"),
    [
        ({"input": ""}, "input"),
        ({"input": None}, "input"),
        ({"voice": 7}, "voice"),
        ({"response_format": "midi"}, "response_format"),
        ({"speed": 0}, "speed"),
        ({"stream": True}, "stream"),
        ({"stream_format": "json"}, "stream_format"),
    ],
)
def test_what_is_no_request_is_refused(
    caller: Caller, members: dict[str, object], param: str
) -> None:
    answer = ask(caller, "speech", **members)

    assert (answer.status, answer.error["param"]) == (400, param)


def test_a_text_that_the_balance_does_not_cover_is_refused(site: Site, audio_model: str) -> None:
    poor = site.caller(credit_nusd=1).with_(model=audio_model)

    answer = ask(poor, "speech")

    assert (answer.status, answer.error["code"]) == (402, "insufficient_credits")


def test_a_model_for_chat_does_not_speak(site: Site) -> None:
    model = add_model(site, "no-speech", provider="audio-openai", operation="chat")

    answer = ask(site.caller().with_(model=model), "speech")

    assert answer.error["code"] == "endpoint_not_supported_by_model"
