"""The fake upstream breaks exactly where it is told to, and notices who leaves."""

from __future__ import annotations

import gzip
import json
import socket
import uuid
from typing import Any

import pytest

from tests.fakes.asking import Reply, ask, connect, request_bytes, script
from tests.fakes.test_upstream import entries
from tests.support.servers import UpstreamServer
from tests.support.waiting import wait_until

Upstream = UpstreamServer


@pytest.mark.parametrize(
    ("fault", "is_complete", "was_reset"),
    [
        ({"reset_after": 2}, False, True),
        ({"close_after": 2}, False, False),
        ({"truncate_after": 2}, True, False),
    ],
)
def test_a_stream_breaks_after_the_given_token(
    upstream: Upstream, fault: dict[str, int], is_complete: bool, was_reset: bool
) -> None:
    request_id = str(uuid.uuid4())

    reply = ask(upstream, script(tokens=5, **fault), stream=True, request_id=request_id)

    assert reply.said == "tok0 tok1 "
    assert b"[DONE]" not in reply.body
    assert (reply.complete, reply.was_reset) == (is_complete, was_reset)
    [entry] = entries(upstream, request_id)
    assert (entry["state"], entry["completion_tokens"]) == ("broken", 2)


@pytest.mark.parametrize("fault", ["reset_at_byte", "truncate_at_byte", "close_at_byte"])
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("byte", [0, 1, 57, 200])
def test_an_answer_breaks_at_the_given_byte(
    upstream: Upstream, fault: str, stream: bool, byte: int
) -> None:
    reply = ask(upstream, script(**{fault: byte}), stream=stream)

    assert reply.status == 200
    assert len(reply.body) == byte
    assert reply.was_reset == (fault == "reset_at_byte")


@pytest.mark.parametrize("how", ["reset", "close"])
def test_a_call_is_dropped_without_an_answer(upstream: Upstream, how: str) -> None:
    reply = ask(upstream, script(drop=how))

    assert (reply.status, reply.was_reset) == (0, how == "reset")


def test_buffered_answers_break_in_the_middle_of_the_body(upstream: Upstream) -> None:
    reset = ask(upstream, script(reset_after=1))
    truncated = ask(upstream, script(truncate=1))

    assert reset.was_reset
    assert not reset.complete
    assert truncated.complete
    with pytest.raises(json.JSONDecodeError):
        json.loads(truncated.body)


@pytest.mark.parametrize("size", [1, 2, 7])
def test_pieces_of_any_size_add_up(upstream: Upstream, size: int) -> None:
    told = script(text="déjà\u2028vu 😀", chunk_bytes=size)

    assert ask(upstream, told, stream=True).said == "déjà\u2028vu 😀"
    assert ask(upstream, told).text == "déjà\u2028vu 😀"


@pytest.mark.parametrize("framing", ["chunked", "eof"])
def test_framings_carry_the_same_answer(upstream: Upstream, framing: str) -> None:
    reply = ask(upstream, script(tokens=2, framing=framing))

    assert reply.complete
    assert reply.text == "tok0 tok1 "


def test_gzip_and_great_answers_do_not_lie_in_memory_whole(upstream: Upstream) -> None:
    bomb = ask(upstream, script(big_bytes=5_000_000, gzip=1))
    event = ask(upstream, script(big_bytes=300_000), stream=True)

    assert len(bomb.body) < 50_000
    content = json.loads(gzip.decompress(bomb.body))["choices"][0]["message"]["content"]
    assert content == "x" * 5_000_000
    assert event.said == "x" * 300_000


@pytest.mark.parametrize("status", [400, 401, 429, 500, 503, 529])
@pytest.mark.parametrize("body", ["json", "html", "text", "empty", "null", "broken"])
def test_refusals_come_as_told(upstream: Upstream, status: int, body: str) -> None:
    told = script(fail=status, body=body, retry_after=7, header="x-trace: abc")

    reply = ask(upstream, told, stream=True)

    assert reply.status == status
    assert reply.headers["retry-after"] == "7"
    assert reply.headers["x-trace"] == "abc"
    assert ("html" in reply.headers["content-type"]) == (body == "html")


def events_of(reply: Reply, line_end: str) -> list[str]:
    """Return the data of each event as the SSE grammar reads it, for one kind of line end."""
    blocks = reply.body.decode().split(line_end * 2)
    datas = [
        [line[5:].lstrip(" ") for line in block.split(line_end) if line.startswith("data:")]
        for block in blocks
    ]
    return ["\n".join(lines) for lines in datas if any(lines)]


@pytest.mark.parametrize(
    ("forms", "line_end"),
    [
        (["crlf"], "\r\n"),
        (["cr"], "\r"),
        (["nospace"], "\n"),
        (["multiline", "comments", "fields", "empty"], "\n"),
        (["crlf", "multiline", "fields", "flood"], "\r\n"),
    ],
)
def test_unusual_spellings_mean_the_same(
    upstream: Upstream, forms: list[str], line_end: str
) -> None:
    reply = ask(upstream, script(tokens=2, sse=forms), stream=True)

    *chunks, last = events_of(reply, line_end)
    said = [json.loads(chunk)["choices"][0]["delta"].get("content") for chunk in chunks]
    assert said == ["", "tok0 ", "tok1 ", None]
    assert last == "[DONE]"


@pytest.mark.parametrize(
    ("form", "planted"),
    [
        ("badjson", b'"half\n\n'),
        ("badutf8", b"\xff\xfe"),
        ("notobject", b"data: 7\n\n"),
        ("dupdone", b"data: [DONE]\n\ndata: [DONE]\n\n"),
        ("afterdone", b"late"),
        ("bom", b"\xef\xbb\xbfdata"),
        ("nodelta", b'"choices":[{"index":0}]'),
        ("nochoices", b'"choices":[]'),
    ],
)
def test_wrong_spellings_are_planted(upstream: Upstream, form: str, planted: bytes) -> None:
    assert planted in ask(upstream, script(tokens=2, sse=form), stream=True).body


def test_an_error_event_ends_the_stream(upstream: Upstream) -> None:
    reply = ask(upstream, script(tokens=5, error_after=2), stream=True)

    assert "error" in reply.events[-1]
    assert len(reply.events) == 4


@pytest.mark.parametrize(
    "told",
    [
        {"stall_after": 2},
        {"tokens": 3, "first_ms": 60_000},
        {"hang": 1},
        {"endless": 1, "delay_ms": 5},
        {"endless": 1},
    ],
)
@pytest.mark.parametrize("ends", ["fin", "rst"])
def test_a_hang_up_is_noticed_in_every_state(
    upstream: Upstream, told: dict[str, Any], ends: str
) -> None:
    request_id = str(uuid.uuid4())
    link = connect(upstream)
    link.sendall(request_bytes(script(**told), stream=True, request_id=request_id))
    wait_until(lambda: entries(upstream, request_id), what="the call to arrive")

    if ends == "rst":
        link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    link.close()

    def cancelled() -> dict[str, Any] | None:
        [entry] = entries(upstream, request_id)
        return entry if entry["state"] == "cancelled" else None

    entry = wait_until(cancelled, what="the hang-up to be noticed")
    assert entry is not None
    assert entry["closed_after_ms"] >= 0
    assert entry["closed_at_s"] >= entry["started_at_s"]


def test_a_reader_who_never_reads_holds_the_generation_back(upstream: Upstream) -> None:
    request_id = str(uuid.uuid4())
    with connect(upstream) as link:
        told = script(endless=1, token_bytes=10_000)
        link.sendall(request_bytes(told, stream=True, request_id=request_id))

        def standing_still() -> int:
            counts = [entries(upstream, request_id) for _ in range(20)]
            seen = {entry["completion_tokens"] for [entry] in counts}
            return seen.pop() if len(seen) == 1 else 0

        generated_tokens = wait_until(standing_still, what="back-pressure")

    assert generated_tokens < 2_000
