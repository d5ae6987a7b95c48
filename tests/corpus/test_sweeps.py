"""Every member of a class instead of its examples: each byte, each bit, each place to split."""

from __future__ import annotations

import select
import time
from collections.abc import Iterator
from contextlib import ExitStack

from tests.corpus.framing import CHAT
from tests.corpus.oracle import Witness, assert_cut, assert_refused
from tests.corpus.wire import Line, request, talk, with_key
from tests.flows.caller import Answer, Caller
from tests.flows.site import Site
from tests.support.waiting import wait_until

LIST = "GET /v1/models HTTP/1.1"
LINES = 50  # connections that wait at the same time
WORDS = b'{"model":"fake-model","messages":[{"role":"user","content":"hi"}]}'
NAMES = ("Host", "Content-Length", "Authorization", "Content-Type", "Connection", "Expect")


def in_chunks(*sizes: int) -> bytes:
    """Return the body in chunks of these sizes, the last one taking what is left."""
    parts, rest = [], WORDS
    for size in sizes:
        parts.append(rest[:size])
        rest = rest[size:]
    whole = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (*parts, rest) if part)
    return request("Transfer-Encoding: chunked", body=whole + b"0\r\n\r\n", sized=False)


def flips(raw: bytes) -> Iterator[bytes]:
    """Yield the bytes with each single bit flipped."""
    for place in range(len(raw)):
        for bit in range(8):
            yield raw[:place] + bytes([raw[place] ^ 1 << bit]) + raw[place + 1 :]


def assert_good_answer(sent: bytes, answer: Answer) -> None:
    """Assert a success, or a refusal in our words, or of a page where no API was asked."""
    assert answer.status < 500, answer
    asked = sent.partition(b" ")[2].startswith((b"/v1/", b"/v1 ", b"/api/v1"))
    if answer.status != 200 and (asked or answer.headers["content-type"] == "application/json"):
        assert_refused(answer, answer.status, answer.error["code"])


def test_a_head_that_ends_at_any_byte_is_cut(site: Site, abused: Caller, witness: Witness) -> None:
    raw = with_key(request(line=LIST, body=b"", sized=False), abused.secret)

    with ExitStack() as stack:
        lines = [stack.enter_context(Line(site.gateway.port)) for _ in range(1, len(raw))]
        for size, line in enumerate(lines, 1):
            line.send(raw[:size])

        for line in lines:
            assert_cut(line.listen(), 408, "request_timeout")


def test_a_caller_that_leaves_at_any_byte_leaves_nothing(
    site: Site, abused: Caller, witness: Witness
) -> None:
    raw = with_key(request(), abused.secret)
    before = witness.open_files()

    for size in range(len(raw)):
        assert talk(site.gateway.port, raw[:size], ends=True).answers == []
        with Line(site.gateway.port) as line:
            line.send(raw[:size])
            line.reset()

    wait_until(lambda: witness.open_files() - before < 10, what="the connections to be forgotten")


def test_any_bit_of_a_head_may_flip(site: Site, healthy: Caller, witness: Witness) -> None:
    """As long as nothing but the body is left to come, an answer must come."""
    raw = with_key(request(line=LIST, body=b"", sized=False), healthy.secret)
    unanswered = []

    for flipped in flips(raw):
        with Line(site.gateway.port) as line:
            line.send(flipped)
            if flipped.endswith(b"\r\n\r\n") or select.select([line.socket], [], [], 0.02)[0]:
                talked = line.listen(answers=1)
                assert_good_answer(flipped, talked.answer)
            else:
                unanswered.append(flipped)  # its end is damaged: more may follow

    assert all(not flipped.endswith(b"\r\n\r\n") for flipped in unanswered)


def test_any_bit_of_a_call_may_flip(site: Site, healthy: Caller, witness: Witness) -> None:
    """What a flipped bit leaves of a call is served or refused, and charged when it is served."""
    raw = with_key(request(), healthy.secret)
    key = raw.index(b"Authorization")

    for flipped in flips(raw[:key]):
        answer = talk(site.gateway.port, flipped + raw[key:], answers=1).answer
        assert_good_answer(flipped, answer)
        witness.expected_calls += answer.status == 200


def test_a_call_may_be_split_anywhere(site: Site, healthy: Caller, witness: Witness) -> None:
    raws = [with_key(raw, healthy.secret) for raw in (request(), in_chunks(1, 20))]
    witness.expected_calls = 0

    for raw in raws:
        for answer in answers_to_splits(site, raw):
            assert answer.status == 200
        witness.expected_calls += len(raw) - 1


def answers_to_splits(site: Site, raw: bytes) -> Iterator[Answer]:
    """Yield the answers to a request that comes in two pieces, for every place to split it. Some
    wait at the same time, but no head waits for long."""
    for start in range(1, len(raw), LINES):
        places = range(start, min(start + LINES, len(raw)))
        with ExitStack() as stack:
            lines = [stack.enter_context(Line(site.gateway.port)) for _ in places]
            for place, line in zip(places, lines, strict=True):
                line.send(raw[:place])
            time.sleep(0.05)  # nothing is awaited: what matters is that the server read meanwhile
            for place, line in zip(places, lines, strict=True):
                line.send(raw[place:])
            for line in lines:
                yield line.listen(answers=1).answer


def test_a_body_may_come_in_chunks_of_any_size(
    site: Site, healthy: Caller, witness: Witness
) -> None:
    sizes = [(1,) * len(WORDS), *((size,) for size in range(1, len(WORDS) + 1))]
    witness.expected_calls = len(sizes)

    for found in sizes:
        answered = talk(site.gateway.port, with_key(in_chunks(*found), healthy.secret), answers=1)
        assert answered.answer.status == 200


def test_chunk_sizes_may_be_spelled_in_all_allowed_ways(
    site: Site, healthy: Caller, witness: Witness
) -> None:
    size = len(WORDS)
    spelled = [b"%x" % size, b"%X" % size, b"0%x" % size, b"%016x" % size, b"%x;a=b" % size]
    spelled += [b'%x;a="b;c"' % size, b"%x;a;b" % size]
    witness.expected_calls = len(spelled)

    for text in spelled:
        body = b"%s\r\n%s\r\n0\r\n\r\n" % (text, WORDS)
        raw = request("Transfer-Encoding: chunked", body=body, sized=False)
        assert (
            talk(site.gateway.port, with_key(raw, healthy.secret), answers=1).answer.status == 200
        )


def test_names_of_headers_may_be_in_any_case(site: Site, healthy: Caller, witness: Witness) -> None:
    raw = with_key(
        request(
            "Content-Type: application/json",
            "Connection: keep-alive",
            "Expect: 100-continue",
            line=f"POST {CHAT} HTTP/1.1",
        ),
        healthy.secret,
    )
    spellings = [
        str.lower,
        str.upper,
        str.swapcase,
        lambda name: "".join(
            letter.upper() if place % 2 else letter.lower() for place, letter in enumerate(name)
        ),
    ]
    witness.expected_calls = len(NAMES) * len(spellings)

    for name in NAMES:
        for spell in spellings:
            spelled = raw.replace(f"\r\n{name}:".encode(), f"\r\n{spell(name)}:".encode())
            answered = talk(site.gateway.port, spelled, answers=2)
            assert [answer.status for answer in answered.answers] == [100, 200]
