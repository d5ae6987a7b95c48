"""What must hold whatever the bytes are. A target returns, or raises what it was not allowed to.

Only public functions are called, so that what is inside can be rewritten.
"""

from __future__ import annotations

import json
import re
import time
from base64 import b64decode
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from itertools import cycle
from typing import Any

from msgspec import structs
from yarl import URL

from gateway.admission.bearer import read_secret
from gateway.admission.profile import choose_profile
from gateway.core.chat import ChatCall
from gateway.core.embeddings import FLOAT_BYTES, as_base64, as_numbers
from gateway.core.errors import GatewayError, InvalidJson, StreamBroken, UpstreamError
from gateway.core.files import Attachment
from gateway.core.form_stream import FormStream
from gateway.core.forms import FormPart, read_boundary, read_form
from gateway.core.profiles import ALL as PROFILES
from gateway.core.profiles import UNIFIED
from gateway.core.request import RequestHead
from gateway.endpoints.chat_completions.attach import as_file, read_fetched
from gateway.endpoints.chat_completions.prompt_parts import read_prompt
from gateway.endpoints.chat_completions.read import read_call
from gateway.endpoints.embeddings.read import read_call as read_embeddings_call
from gateway.http.body import check_head
from gateway.http.headers import read_episode, read_idempotency_key, requires_parameters
from gateway.outbound.locator import BadAddress, next_locator, read_locator
from gateway.outbound.permitted_addresses import is_public
from gateway.providers.anthropic.chat import AnthropicChat
from gateway.providers.base import Framing, UpstreamRequest
from gateway.providers.bedrock.chat import BedrockChat
from gateway.providers.framing import sse
from gateway.providers.framing.aws_event_stream import EventStream
from gateway.providers.framing.json_lines import JsonLines
from gateway.providers.gemini.chat import GeminiChat
from gateway.providers.openai_compatible.chat import OpenAIChat
from gateway.providers.openai_compatible.embeddings import OpenAIEmbeddings
from gateway.providers.tgi.chat import TgiChat
from tests.fuzz import oracles
from tests.support.event_stream import write_raw

Target = Callable[[bytes], None]

# An event this long is too long in the SSE target, so that short streams reach the limit.
SHORT_EVENT_BYTES = 64
# How most providers write: whole events, each by itself.
WRITES = re.compile(rb".*?\n\n|.+", re.DOTALL)
TWO_WANTED = UpstreamRequest(url="https://example.com", headers={}, body=b"", answers=2)
CALLERS_FAULT = range(400, 432)


def head_of(*headers: tuple[bytes, bytes]) -> RequestHead:
    return RequestHead(
        request_id="01900000-0000-7000-8000-000000000000",
        headers=headers,
        peer="192.0.2.1",
        started_ns=time.perf_counter_ns(),
        fields=dict(headers),
    )


@contextmanager
def callers_fault_only() -> Iterator[None]:
    """Let nothing out but refusals that tell the caller something."""
    refused: GatewayError | None = None
    try:
        yield
    except GatewayError as error:
        refused = error
    assert refused is None or (refused.status in CALLERS_FAULT and refused.message.encode())


def decoder(body: bytes) -> None:
    """A body is a Call, or the caller's fault; and it is JSON for us where it is for others."""
    expected, unreadable = None, ""
    try:
        expected = oracles.read_json(body)
    except ValueError as error:
        unreadable = repr(error)
    for profile in PROFILES:
        call, refused_as_json = None, ""
        with callers_fault_only():
            try:
                call = read_call(body, head_of(), profile)
            except InvalidJson as error:
                refused_as_json = error.message
                raise
        assert unreadable or not refused_as_json, f"others read it: {refused_as_json}"
        if call is not None:
            assert not unreadable, f"others do not read it: {unreadable}"
            check_call(call, expected)


def respelled(member: Any) -> Any:
    """Return a response_format that has nothing but a schema as one that OpenAI knows."""
    schema = member.get("json_schema") if isinstance(member, dict) else None
    return {"type": "json_schema", "json_schema": {"name": "response", "schema": schema}}


def check_call(call: ChatCall, expected: Any) -> None:
    """Assert that what was checked is what a provider will be told."""
    assert call.facts.model == expected["model"] != ""
    assert len(call.payload.messages) == len(expected["messages"]) > 0
    assert set(call.payload.fields) == set(expected)
    for name, raw in call.payload.fields.items():
        said = oracles.read_json(raw)
        # Files and schemas are told in one spelling, whichever they came in.
        assert said in (expected[name], respelled(expected[name])) or name == "messages", name
    assert len(oracles.read_json(call.payload.fields["messages"])) == len(call.payload.messages)
    limits = [expected.get("max_tokens"), expected.get("max_completion_tokens")]
    assert call.payload.max_tokens == min(filter(None, limits), default=None)
    assert call.payload.n == (expected.get("n") or 1)
    assert call.payload.prompt_tokens_bound >= len(call.payload.messages)
    for text in read_prompt(call).texts:
        text.encode()


def stream(data: bytes) -> None:
    """The first three bytes say how the rest is cut. However it is, the same events come out,
    and no event is longer than the limit."""
    sizes, whole = [size % 32 + 1 for size in data[:3]] or [1], data[3:]
    expected = oracles.read_events(whole)
    joined = [b"\n".join(lines) for lines in expected]
    longest = max(map(len, joined), default=0)
    with limited_events():
        for pieces in ([whole], cut(whole, sizes), cut(whole, [1]), WRITES.findall(whole)):
            try:
                found = list(read_pieces(pieces))
            except StreamBroken:
                assert max(longest, oracles.longest_line(whole)) >= SHORT_EVENT_BYTES
            else:
                assert found == joined
                assert longest <= SHORT_EVENT_BYTES


@contextmanager
def limited_events() -> Iterator[None]:
    usual, sse.MAX_EVENT_BYTES = sse.MAX_EVENT_BYTES, SHORT_EVENT_BYTES
    try:
        yield
    finally:
        sse.MAX_EVENT_BYTES = usual


def cut(whole: bytes, sizes: Iterable[int]) -> Iterator[bytes]:
    place = 0
    for size in cycle(sizes):
        if place >= len(whole):
            return
        yield whole[place : place + size]
        place += size


def read_pieces(pieces: Iterable[bytes], framing: Framing | None = None) -> Iterator[bytes]:
    framing = framing or sse.SseDecoder()
    for piece in pieces:
        yield from framing.feed(piece)
    yield from framing.finish()


def event_stream(data: bytes) -> None:
    """However an event stream is cut, the same frames come out, and it is broken in the same place.
    What botocore reads of it is the same. The bytes are a stream, and the headers of one: as such
    they have a right checksum."""
    sizes, whole = [size % 32 + 1 for size in data[:3]] or [1], data[3:]
    for body in (whole, write_raw(b"{}", whole)):
        expected = until_broken(read_pieces([body], EventStream()))
        for pieces in (cut(body, sizes), cut(body, [1])):
            assert until_broken(read_pieces(pieces, EventStream())) == expected
        frames, is_broken = expected
        theirs = oracles.read_messages(body)
        assert is_broken or theirs is None or frames == theirs


def lines(data: bytes) -> None:
    """However JSON lines are cut, the same come out: those that are not empty."""
    sizes, whole = [size % 32 + 1 for size in data[:3]] or [1], data[3:]
    expected = [line.strip() for line in whole.split(b"\n") if line.strip()]
    for pieces in ([whole], cut(whole, sizes), cut(whole, [1])):
        assert list(read_pieces(pieces, JsonLines())) == expected


def until_broken(frames: Iterator[bytes]) -> tuple[list[bytes], bool]:
    """Return the frames, and whether the stream was found to be broken after them."""
    found: list[bytes] = []
    try:
        found.extend(frames)
    except StreamBroken:
        return found, True
    return found, False


def headers(data: bytes) -> None:
    """One header a line. Each reader returns something, or it is the caller's fault."""
    lines = [line.partition(b":") for line in data.split(b"\n")]
    head = head_of(*((name.strip().lower(), value.strip()) for name, _, value in lines))
    with callers_fault_only():
        check_head(head, 1_000)
    with callers_fault_only():
        assert choose_profile(head, None, UNIFIED) in PROFILES
    with callers_fault_only():
        assert len(read_idempotency_key(head)) <= 255
    with callers_fault_only():
        assert len(read_episode(head, None)) == 36
    with callers_fault_only():
        assert read_secret(head)
    assert len(head.client_id()) <= 128
    assert requires_parameters(head) in (True, False)


def provider(data: bytes) -> None:
    """What a provider sends, buffered or streamed, makes sense or is the provider's fault."""
    for dialect in (OpenAIChat(), AnthropicChat(), BedrockChat(), TgiChat(), GeminiChat()):
        with suppress(UpstreamError):
            answer = dialect.read_answer(data, TWO_WANTED)
            assert answer.choices
        assert isinstance(dialect.read_error(400, {}, data), UpstreamError)
        with suppress(UpstreamError):
            decoder = dialect.open_decoder(TWO_WANTED)
            for line in data.split(b"\n"):
                decoder.read(line)


def embeddings(body: bytes) -> None:
    """A body is a call for embeddings, or the caller's fault."""
    call = None
    with callers_fault_only():
        call = read_embeddings_call(body, head_of())
    if call is not None:
        expected = oracles.read_json(body)
        given = expected["input"]
        many = isinstance(given, list) and not isinstance(given[0], int)
        assert call.payload.inputs == (len(given) if many else 1)
        assert call.payload.prompt_tokens_bound > call.payload.inputs
        assert oracles.read_json(call.payload.fields["input"]) == given


def vectors(data: bytes) -> None:
    """What a provider sends is as many vectors as were asked for, or the provider's fault. In
    either form they have the same numbers."""
    with suppress(UpstreamError):
        answer = OpenAIEmbeddings().read_answer(data, TWO_WANTED)
        assert len(answer.vectors) == TWO_WANTED.answers
        for vector in answer.vectors:
            # Of numbers beyond a double readers make infinity, and so do we.
            numbers, encoded = json.loads(bytes(as_numbers(vector))), as_base64(vector)
            assert len(b64decode(encoded)) == FLOAT_BYTES * len(numbers) > 0


def address(data: bytes) -> None:
    """An address, or where a redirect leads, is refused, or is one public place for everybody."""
    text = data.decode("utf-8", "surrogateescape")
    for read in (read_locator, partial(next_locator, URL("https://example.com/a/b?c"))):
        with suppress(BadAddress):
            url = read(text, ())
            assert url.scheme in ("http", "https")
            assert "@" not in url.raw_authority
            assert not re.search(r"[\s\\]", str(url))
            host = oracles.find_ip_address(url.raw_host or "")
            assert host is None or (is_public(host) and url.port in (80, 443))


def file(data: bytes) -> None:
    """What an address has is a file of a type that is taken, or no file. The first line is what
    its server calls it."""
    name, _, content = data.partition(b"\n")
    wanted = Attachment(
        row=0,
        column=0,
        param="p",
        filename="",
        declared="",
        address="https://example.com/",
        data="",
        bound_tokens=0,
    )
    with callers_fault_only():
        ready = read_fetched(content, wanted, name.decode("utf-8", "surrogateescape"))
        [block] = as_file(ready).blocks
        kind, _, encoded = block["file"]["file_data"].partition(";base64,")
        assert (kind, b64decode(encoded)) == (f"data:{ready.kind}", content)
        assert block["file"]["filename"].isprintable()


def form(data: bytes) -> None:
    """Both readers of forms read the same, however it arrives, or both refuse it. The first line is
    the Content-Type; the three bytes behind it say how the rest is cut."""
    kind, _, rest = data.partition(b"\n")
    boundary = b""
    with callers_fault_only():
        boundary = read_boundary(kind)
    sizes, body = [size % 32 + 1 for size in rest[:3]] or [1], rest[3:]
    if not boundary:
        return
    expected: list[FormPart] | None = None
    with callers_fault_only():
        expected = read_form(body, boundary)
    for pieces in ([body], cut(body, sizes), cut(body, [1])):
        found: list[FormPart] | None = None
        with callers_fault_only():
            found = read_parts(pieces, boundary)
        assert found == expected


def read_parts(pieces: Iterable[bytes], boundary: bytes) -> list[FormPart]:
    """Return the parts of a form that arrives in pieces. Raises RequestError."""
    stream, parts, content = FormStream(boundary), list[FormPart](), bytearray()
    for piece in pieces:
        for event in stream.feed(piece):
            if isinstance(event, FormPart):
                content.clear()
                parts.append(event)
            elif event is None:
                parts[-1] = structs.replace(parts[-1], content=bytes(content))
            else:
                content += event
    stream.finish()
    return parts


TARGETS: Mapping[str, Target] = {
    "decoder": decoder,
    "stream": stream,
    "event_stream": event_stream,
    "lines": lines,
    "headers": headers,
    "provider": provider,
    "embeddings": embeddings,
    "vectors": vectors,
    "address": address,
    "file": file,
    "form": form,
}
