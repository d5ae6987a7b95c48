"""What providers send, damaged in every way: no call hangs, none fails for a reason of ours, each
is settled, and the ledger still adds up (which the site proves at its end).

Every byte and bit of a stream is tried on the decoders alone; over sockets a part of them.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import quote

import pytest

from gateway.core.errors import UpstreamError
from gateway.providers.base import UpstreamRequest
from gateway.providers.registry import adapter_of
from tests.corpus.oracle import Witness
from tests.corpus.test_sweeps import flips
from tests.flows.caller import DONE, Answer, Caller
from tests.flows.site import NUSD_PER_USD, Site

AT_ONCE = 50
TEXT = "a é😀 b"


def chunk(delta: dict[str, Any], *, reason: str | None = None, **more: Any) -> str:
    choices = [{"index": 0, "delta": delta, "finish_reason": reason}]
    whole = {"id": "x", "object": "chat.completion.chunk", "choices": choices} | more
    return json.dumps(whole, ensure_ascii=False)


def call_of(**function: str) -> dict[str, Any]:
    return {"tool_calls": [{"index": 0, "id": "call_0", "type": "function", "function": function}]}


EVENTS = (
    chunk({"role": "assistant", "content": ""}),
    chunk({"reasoning_content": "hm"}),
    chunk({"content": TEXT}, system_fingerprint="fp"),
    chunk(call_of(name="look", arguments='{"a":')),
    chunk({}, reason="stop"),
    chunk({}, choices=[], usage={"prompt_tokens": 3, "completion_tokens": 4}),
    DONE,
)
# The same answer in Anthropic's dialect.
MESSAGES_EVENTS = tuple(
    json.dumps(event, ensure_ascii=False)
    for event in (
        {"type": "message_start", "message": {"content": [], "usage": {"input_tokens": 3}}},
        {"type": "content_block_start", "content_block": {"type": "thinking", "thinking": ""}},
        {"type": "content_block_delta", "delta": {"type": "thinking_delta", "thinking": "hm"}},
        {"type": "content_block_delta", "delta": {"type": "text_delta", "text": TEXT}},
        {
            "type": "content_block_start",
            "content_block": {"type": "tool_use", "id": "call_0", "name": "look", "input": {}},
        },
        {
            "type": "content_block_delta",
            "delta": {"type": "input_json_delta", "partial_json": '{"é":1}'},
        },
        {"type": "content_block_stop"},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "tool_use"},
            "usage": {"output_tokens": 4},
        },
        {"type": "message_stop"},
    )
)
# And in Gemini's.
GEMINI_EVENTS = tuple(
    json.dumps(event, ensure_ascii=False)
    for event in (
        {"candidates": [{"content": {"parts": [{"text": "hm", "thought": True}]}}]},
        {"candidates": [{"content": {"parts": [{"text": TEXT}]}}]},
        {
            "candidates": [
                {
                    "content": {
                        "parts": [
                            {
                                "functionCall": {"id": "call_0", "name": "look", "args": {"é": 1}},
                                "thoughtSignature": "c2lnbmVk",
                            }
                        ]
                    }
                }
            ]
        },
        {
            "candidates": [{"finishReason": "STOP"}],
            "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 4},
        },
    )
)
OPENAI, ANTHROPIC, GEMINI = "openai_compatible", "anthropic", "google_ai_studio_gemini"
# The kind of provider, and what it sends.
STREAMS: dict[str, tuple[str, bytes]] = {
    "plain": (OPENAI, "".join(f"data: {event}\n\n" for event in EVENTS).encode()),
    "carriage returns": (OPENAI, "".join(f"data:{event}\r\n\r\n" for event in EVENTS).encode()),
    "old line ends": (OPENAI, "".join(f": hm\rdata: {event}\r\r" for event in EVENTS).encode()),
    "in lines": (
        OPENAI,
        "".join(f"id: 7\ndata: {e.replace(', ', ',@')}\n\n" for e in EVENTS)
        .replace("@", "\ndata: ")
        .encode(),
    ),
    "messages": (
        ANTHROPIC,
        "".join(f"event: x\ndata: {event}\n\n" for event in MESSAGES_EVENTS).encode(),
    ),
    "gemini": (GEMINI, "".join(f"data: {event}\r\n\r\n" for event in GEMINI_EVENTS).encode()),
}
REQUEST = UpstreamRequest(url="https://example.com", headers={}, body=b"")
each_stream = pytest.mark.parametrize(("kind", "stream"), STREAMS.values(), ids=STREAMS)


def decode(kind: str, pieces: Sequence[bytes]) -> tuple[list[Any], bool]:
    """Return the events of a stream that arrives in these pieces, and whether it made sense."""
    decoder = adapter_of("chat", kind).open_decoder(REQUEST)
    events: list[Any] = []
    try:
        for piece in pieces:
            for frame in decoder.framing.feed(piece):
                events += decoder.read(frame)
        for frame in decoder.framing.finish():
            events += decoder.read(frame)
    except UpstreamError:
        return events, False
    return events, True


@each_stream
def test_events_are_the_same_wherever_a_stream_is_split(kind: str, stream: bytes) -> None:
    whole = decode(kind, [stream])
    plain = whole if kind != OPENAI else decode(kind, [STREAMS["plain"][1]])

    assert whole == plain
    assert whole[1]
    assert decode(kind, [stream[n : n + 1] for n in range(len(stream))]) == whole
    for place in range(len(stream) + 1):
        head, tail = stream[:place], stream[place:]
        assert decode(kind, [head, tail]) == whole
        assert decode(kind, [head, b"", tail[:3], tail[3:]]) == whole


@each_stream
def test_a_stream_that_ends_early_has_the_first_of_its_events(kind: str, stream: bytes) -> None:
    events, _ = decode(kind, [stream])

    for size in range(len(stream)):
        found, _ = decode(kind, [stream[:size]])
        assert found == events[: len(found)]


@each_stream
def test_any_bit_of_a_stream_may_flip(kind: str, stream: bytes) -> None:
    events, _ = decode(kind, [stream])
    unharmed = 0

    for flipped in flips(stream):
        found, is_sense = decode(kind, [flipped])
        unharmed += is_sense and found == events

    assert 0 < unharmed < 8 * len(stream)


def ask_all(
    caller: Caller, scripts: Sequence[str], *, stream: bool, **members: Any
) -> list[Answer]:
    """Return the answers to these scripts, asked some at a time."""
    answers = []
    rest = iter(scripts)
    while some := list(itertools.islice(rest, AT_ONCE)):
        calls = [caller.begin(f"script:{s}", stream=stream, **members) for s in some]
        answers += [call.answer() for call in calls]
    return answers


def assert_told(answer: Answer, *, stream: bool) -> bool:
    """Assert that the caller has a whole answer or a failure of the provider's. True for whole."""
    assert answer.is_whole
    if answer.status != 200:
        assert answer.error["code"] in PROVIDERS, answer.body
        return False
    if not stream:
        assert answer.json["object"] == "chat.completion"
        return True
    assert answer.events[-1] == DONE
    assert answer.events.count(DONE) == 1
    last = answer.chunks[-1]
    if "error" in last:
        assert last["error"]["code"] in PROVIDERS, last
        assert "choices" not in last
        return False
    reasons = [c["finish_reason"] for found in answer.chunks for c in found["choices"]]
    assert any(reasons)
    return True


PROVIDERS = ("provider_unavailable", "invalid_request", "provider_auth", "provider_timeout")
FREE = {"zero_upstream", "zero_empty"}


def assert_settled(site: Site, caller: Caller, answers: Sequence[Answer], whole: int) -> None:
    """Assert one record of each call that has ended, and a charge for whole answers alone."""
    records = site.records(caller, count=len(answers))
    assert len(records) == len(answers)
    assert {record["id"] for record in records} == {answer.call_id for answer in answers}
    ends = {"ok", "upstream_error"}
    assert {record["status"] for record in records} <= ends
    assert len([r for r in records if r["status"] == "ok"]) == whole
    for record in records:
        assert 0 <= record["charge_nusd"] <= record["hold_nusd"]
        assert record["status"] == "ok" or record["charge_basis"] in FREE


@pytest.fixture
def caller(site: Site) -> Caller:
    return site.caller(credit_nusd=100 * NUSD_PER_USD)


def size_of(answer: Answer) -> int:
    """Return a guess at how long the provider's own bytes were: at least as long."""
    return len(answer.body) + 200


@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "buffered"])
def test_a_flipped_bit_of_a_providers_is_no_fault_of_ours(
    site: Site, caller: Caller, witness: Witness, stream: bool
) -> None:
    quoted = quote(TEXT)
    whole = caller.ask(f"script:text={quoted}", stream=stream)
    bits = range(0, 8 * size_of(whole), 23)
    witness.expected_calls = 1 + len(bits)

    answers = ask_all(caller, [f"text={quoted}&flip_bit={bit}" for bit in bits], stream=stream)

    good = sum(assert_told(answer, stream=stream) for answer in [whole, *answers])
    assert_settled(site, caller, [whole, *answers], good)
    assert 0 < good < len(answers)


@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "buffered"])
@pytest.mark.parametrize("gap", ["", "&gap_ms=2"])
def test_a_provider_may_split_its_answer_anywhere(
    site: Site, caller: Caller, witness: Witness, stream: bool, gap: str
) -> None:
    quoted = quote(TEXT)
    whole = caller.ask(f"script:text={quoted}", stream=stream)
    places = range(1, size_of(whole), 3)
    witness.expected_calls = 1 + len(places)

    answers = ask_all(caller, [f"text={quoted}&split_at={n}{gap}" for n in places], stream=stream)

    assert {answer.text for answer in answers} == {TEXT}
    assert all(assert_told(answer, stream=stream) for answer in answers)
    assert_settled(site, caller, [whole, *answers], 1 + len(answers))


@pytest.mark.parametrize("how", ["truncate_at_byte", "close_at_byte", "reset_at_byte"])
@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "buffered"])
def test_a_provider_may_break_off_anywhere(
    site: Site, caller: Caller, witness: Witness, how: str, stream: bool
) -> None:
    places = range(0, 900, 13)
    scripts = [f"text=a+b&wait_ms=1&{how}={place}" for place in places]
    witness.expected_calls = len(scripts)

    answers = ask_all(caller, scripts, stream=stream)

    good = sum(assert_told(answer, stream=stream) for answer in answers)
    assert_settled(site, caller, answers, good)
    assert good < len(answers)


def odd_choices() -> Iterator[Any]:
    """Yield members of a chunk's only choice that are not as they should be."""
    index: Any
    delta: Any
    calls: Any
    arguments: Any
    reason: Any
    logprobs: Any
    value: Any
    for index in ([], {}, "a", "0", -1, 7, 10**9, 10**30, 0.5, True, None, [0]):
        yield {"index": index, "delta": {"content": "x"}}
        yield {"index": index, "delta": {}, "finish_reason": "stop"}
    for delta in (7, "x", [], [1], None, True, {"content": 7}, {"content": {"a": 1}}, {"": ""}):
        yield {"index": 0, "delta": delta}
    for calls in (7, "x", {}, [7], [None], [{}], [{"function": 7}], [{"function": {"name": 7}}]):
        yield {"index": 0, "delta": {"tool_calls": calls}}
    for arguments in (7, None, {}, [1]):
        yield {"index": 0, "delta": call_of(name="f") | {"a": arguments}}
        called = [{"index": 0, "function": {"name": "f", "arguments": arguments}}]
        yield {"index": 0, "delta": {"tool_calls": called}}
    for reason in (7, [], {}, "", "eos", True, ["stop"]):
        yield {"index": 0, "delta": {}, "finish_reason": reason}
    for logprobs in (7, "x", [], {"content": 7}):
        yield {"index": 0, "delta": {"content": "x"}, "logprobs": logprobs}
    for name in ("role", "reasoning", "reasoning_content", "refusal", "content"):
        for value in (7, [], {}, "", None, "x"):
            yield {"index": 0, "delta": {name: value}}


def odd_chunks() -> Iterator[str]:
    choices: Any
    usage: Any
    error: Any
    marker: Any
    for choice in odd_choices():
        yield json.dumps({"choices": [choice]})
    for choices in (7, "x", {}, {"a": 1}, [7], [None], ["x"], [[]], None, True):
        yield json.dumps({"choices": choices})
    for usage in (7, "x", [], {"prompt_tokens": -1}, {"prompt_tokens": 10**30}, True):
        yield json.dumps({"choices": [], "usage": usage})
    for error in (7, "x", [], [1], {"code": 401}, {"code": "x", "message": 7}, {"message": {}}):
        yield json.dumps({"error": error})
    for marker in (7, [], {}, "x", {"a": "b"}):
        yield json.dumps({"system_fingerprint": marker, "service_tier": marker, "choices": []})
    for depth in (100, 900, 1_100, 40_000):
        yield '{"choices":[{"index":0,"delta":{"x":' + "[" * depth + "]" * depth + "}}]}"
    yield from ("[]", "7", '"x"', "null", "true", "{}", "{", "NaN", '{"a":1,"a":2}', "[DONE]x")
    yield from ("\x00", "\u2028", " ", '{"choices":[{"delta":{"content":"\\ud800"}}]}', "1e400")


def test_no_event_of_a_providers_is_a_fault_of_ours(
    site: Site, caller: Caller, witness: Witness
) -> None:
    events = [event for event in odd_chunks() if len(event) < 100_000]
    scripts = [f"tokens=3&plant={quote(event)}" for event in events]
    witness.expected_calls = len(scripts)

    answers = ask_all(caller, scripts, stream=True)

    good, wrong = 0, []
    for event, answer in zip(events, answers, strict=True):
        try:
            good += assert_told(answer, stream=True)
        except (AssertionError, RecursionError):
            wrong.append((event[:200], answer.status, answer.body[-300:]))
    assert wrong == []
    assert_settled(site, caller, answers, good)
