"""POST /audio/transcriptions and /audio/translations: forms up, text down."""

from __future__ import annotations

from typing import Any

import pytest

from tests.flows.audio.asking import (
    BOUNDARY,
    PRICES,
    RECORDING,
    add_model,
    ask,
    ask_scripted,
    request_of,
)
from tests.flows.caller import Caller
from tests.flows.site import INPUT_NUSD, NUSD_PER_USD, OUTPUT_NUSD, Site
from tests.flows.transports import both_transports

both = pytest.mark.parametrize("operation", ["transcriptions", "translations"])
SAID = "one two three"
ONE_SECOND_NUSD = PRICES["second"]  # a thousand milliseconds, in thousands of pico-USD


@both
@pytest.mark.parametrize("mount", ["/v1", "/api/v1", "/openai/v1", "/compat/bud/v1"])
def test_every_mount_answers_with_text_and_cost(
    site: Site, caller: Caller, operation: str, mount: str
) -> None:
    answer = ask_scripted(caller, operation, f"text={SAID}", mount=mount)

    assert answer.status == 200, answer.body
    assert answer.json["text"] == SAID
    record = site.record(answer.call_id)
    assert record["charge_nusd"] == 2 * ONE_SECOND_NUSD
    assert answer.json["usage"] == {"type": "duration", "seconds": 2, "cost": 2e-4}
    assert record["charge_basis"] == "usage"


@both_transports
@both
def test_text_and_subtitles_are_written_here(caller: Caller, operation: str) -> None:
    def written(form: str) -> str:
        answer = ask_scripted(caller, operation, f"text={SAID}", response_format=form)
        assert answer.headers["content-type"] == "text/plain; charset=utf-8"
        assert answer.headers["x-credits-used"]
        return answer.body.decode()

    assert written("text") == f"{SAID}\n"
    assert written("srt").startswith("1\n00:00:00,000 --> 00:00:00,500\none\n\n2\n")
    assert written("vtt").startswith("WEBVTT\n\n00:00:00.000 --> 00:00:00.500\none\n\n")


def test_verbose_json_has_what_the_provider_says(caller: Caller) -> None:
    members = {"response_format": "verbose_json", "timestamp_granularities": ["word", "segment"]}

    answer = ask_scripted(caller, "transcriptions", f"text={SAID}", **members)

    assert [one["text"] for one in answer.json["segments"]] == SAID.split()
    assert (answer.json["language"], answer.json["duration"]) == ("english", 2.0)


@pytest.mark.parametrize("native", ["whisper-1", "gpt-4o-transcribe"])
def test_a_stream_ends_with_the_whole_text(site: Site, native: str) -> None:
    name = f"streamed-{native}"
    model = add_model(site, name, provider="audio-openai", native_model=native)
    caller = site.caller().with_(model=model)

    answer = ask_scripted(caller, "transcriptions", f"text={SAID}", stream="true")

    *deltas, done = answer.events
    assert "".join(one["delta"] for one in deltas) == done["text"] == SAID
    assert len(deltas) == (1 if native == "whisper-1" else 3)
    assert done["type"] == "transcript.text.done"
    assert done["usage"]["cost"] == site.record(answer.call_id)["charge_nusd"] / NUSD_PER_USD


@pytest.mark.parametrize("stream", ["false", "true"])
def test_tokens_are_charged_where_the_provider_counts_them(site: Site, stream: str) -> None:
    model = site.add_model(
        f"token-words-{stream}", provider="audio-openai", native_model="gpt-4o-transcribe"
    )
    caller = site.caller().with_(model=model)

    answer = ask_scripted(caller, "transcriptions", f"text={SAID}", stream=stream)

    record = site.record(answer.call_id)
    assert record["charge_nusd"] == 20 * INPUT_NUSD + 3 * OUTPUT_NUSD
    usage = answer.events[-1]["usage"] if stream == "true" else answer.json["usage"]
    assert (usage["type"], usage["input_tokens"], usage["output_tokens"]) == ("tokens", 20, 3)


@pytest.mark.parametrize("stream", ["false", "true"])
def test_a_provider_that_tells_a_duration_in_long_answers_alone_is_asked_for_them(
    site: Site, stream: str
) -> None:
    address, name = f"{site.upstream.origin}/groq/v1", f"groq-whisper-{stream}"
    site.office.do("provider", name=name, kind="groq", base_url=address, credential="sk-x")
    model = add_model(site, name, provider=name, native_model="whisper-large-v3")
    caller = site.caller().with_(model=model)

    answer = ask(caller, "transcriptions", stream=stream)

    usage = answer.events[-1]["usage"] if stream == "true" else answer.json["usage"]
    assert usage["seconds"] == 2
    record = site.record(answer.call_id)
    assert (record["charge_basis"], record["charge_nusd"]) == ("usage", 2 * ONE_SECOND_NUSD)


def test_without_a_duration_the_size_is_charged(site: Site, caller: Caller) -> None:
    answer = ask_scripted(caller, "transcriptions", "usage=none")

    record = site.record(answer.call_id)
    assert (record["charge_basis"], record["charge_nusd"]) == ("estimate", 2 * ONE_SECOND_NUSD)


@both
def test_a_repeated_key_knows_the_request_by_its_file(
    site: Site, caller: Caller, operation: str
) -> None:
    request = request_of(caller, operation, headers={"idempotency-key": "once"})
    other = {**request, "raw": request["raw"].replace(BOUNDARY.encode(), b"another")}
    other["headers"] = {
        **request["headers"],
        "content-type": "multipart/form-data; boundary=another",
    }

    first, again = caller.ask(**request), caller.ask(**other)
    changed = ask(caller, operation, content=b"else", headers={"idempotency-key": "once"})

    assert (first.status, again.body) == (200, first.body)
    assert changed.status == 422
    charge_nusd = site.record(first.call_id)["charge_nusd"]
    assert site.balance_nusd(caller) == NUSD_PER_USD - charge_nusd


@both
def test_the_simulated_model_listens(caller: Caller, operation: str) -> None:
    answer = ask(caller.with_(model="tollhouse/simulated"), operation)

    assert answer.json["text"] == f"You sent a.mp3, {len(RECORDING)} bytes."


@both_transports
@both
@pytest.mark.parametrize(
    "fault",
    [
        *("fail=500", "drop=close", "truncate", "reset_at_byte=20", "answers=raw:[]"),
        *("answers=raw:{}", 'answers=raw:{"text":7}', "answers=raw:null"),
    ],
)
def test_what_is_no_transcript_is_the_providers_fault_and_free(
    site: Site, caller: Caller, operation: str, fault: str
) -> None:
    answer = ask_scripted(caller, operation, fault)

    assert (answer.status, answer.error["code"]) == (502, "provider_unavailable"), answer.body
    assert site.record(answer.call_id)["charge_nusd"] == 0


@pytest.mark.parametrize(
    ("members", "param"),
    [
        ({"content": b""}, "file"),
        ({"response_format": "pdf"}, "response_format"),
        ({"response_format": "srt", "stream": "true"}, "response_format"),
        ({"temperature": "warm"}, "temperature"),
        ({"temperature": "9"}, "temperature"),
        ({"stream": "maybe"}, "stream"),
        ({"timestamp_granularities": ["letter"]}, "timestamp_granularities[0]"),
        ({"tensorzero::credentials": "7"}, "tensorzero::credentials"),
        ({"base_url": "http://x"}, "base_url"),
    ],
)
def test_what_is_no_request_is_refused(caller: Caller, members: dict[str, Any], param: str) -> None:
    answer = ask(caller, "transcriptions", **members)

    assert (answer.status, answer.error["param"]) == (400, param), answer.body


FORM = f"multipart/form-data; boundary={BOUNDARY}"


@pytest.mark.parametrize(
    ("kind", "raw"),
    [
        ("application/json", b"{}"),
        ("", b"{}"),
        ("multipart/form-data", b""),
        (f"multipart/form-data; boundary={'x' * 71}", b""),
        ("multipart/form-data; boundary=a; boundary=b", b"--a--"),
        (FORM, b""),
        (FORM, b"--"),
        (FORM, f"--{BOUNDARY}".encode()),
        (FORM, f"--{BOUNDARY}--".encode()),
        (FORM, f"--{BOUNDARY}\r\n\r\n\r\n--{BOUNDARY}--".encode()),
        (FORM, f"--{BOUNDARY}\r\nx\r\n\r\n\r\n--{BOUNDARY}--".encode()),
        (FORM, b"preamble\r\n" + f"--{BOUNDARY}--".encode()),
        (FORM, f"--{BOUNDARY}\r\n".encode() * 10_000),
    ],
)
def test_what_is_no_form_is_refused(caller: Caller, kind: str, raw: bytes) -> None:
    path = "/v1/audio/transcriptions"

    answer = caller.ask(path=path, raw=raw, headers={"content-type": kind})

    assert answer.status == 400, answer.body
    assert answer.error["message"]


def test_a_file_under_another_name_is_refused(caller: Caller) -> None:
    path = "/v1/audio/transcriptions"
    head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="other"; filename="a"\r\n\r\n'

    answer = caller.ask(
        path=path,
        raw=f"{head}x\r\n--{BOUNDARY}--\r\n".encode(),
        headers={"content-type": FORM},
    )

    assert (answer.status, answer.error["param"]) == (400, "other")


def test_a_recording_that_the_balance_does_not_cover_is_refused(
    site: Site, audio_model: str
) -> None:
    poor = site.caller(credit_nusd=1).with_(model=audio_model)

    answer = ask(poor, "transcriptions")

    assert (answer.status, answer.error["code"]) == (402, "insufficient_credits")


def test_credentials_of_a_form_reach_their_provider_and_nobody_else(site: Site) -> None:
    address = f"{site.upstream.origin}/keyed/v1"
    fields = {"kind": "openai", "base_url": address, "credential": "dynamic::mine"}
    site.office.do("provider", name="of-callers", **fields)
    model = add_model(site, "callers-key", provider="of-callers", native_model="whisper-1")
    caller = site.caller().with_(model=model)

    answer = ask(caller, "transcriptions", **{"tensorzero::credentials": '{"mine":"sk-right"}'})

    assert answer.status == 200, answer.body


def test_a_key_needs_the_scope_of_calls(site: Site, audio_model: str) -> None:
    answer = ask(site.caller(scopes=["usage"]).with_(model=audio_model), "transcriptions")

    assert (answer.status, answer.error["code"]) == (403, "insufficient_scope")


def test_nothing_is_logged_as_our_fault(site: Site) -> None:
    assert "Traceback" not in site.gateway.log.read_text()
