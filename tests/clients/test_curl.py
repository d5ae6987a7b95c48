"""curl, as people paste it, and the plainest of all clients: a socket read without any care."""

from __future__ import annotations

import json
import re
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.clients.witnesses import (
    assert_left,
    assert_prompt_paid,
    calls_begun,
    wait_for_call,
)
from tests.flows.caller import said_by
from tests.support.require import require_binary
from tests.support.servers import GatewayServer, UpstreamServer

RECV_BYTES = 1024 * 1024
WRITE_BYTES = 16 * 1024  # more in one write would be torn by the kernel now and then
WAIT_S = 60
WITHOUT_USAGE = {"stream_options": {"include_usage": False}}
HARD_TO_CUT = "Grüße,+日本語+und+🙂🙃"


def body_of(content: str, **members: Any) -> str:
    model = {"model": "fake-model"} | members
    return json.dumps(model | {"messages": [{"role": "user", "content": content}]})


@pytest.fixture
def curl(base_url: str, shared_gateway: GatewayServer) -> list[str]:
    """The start of a command line: options and a body have to follow."""
    path = require_binary("curl", package="curl")
    return [
        *(path, "--silent", "--show-error", "--max-time", str(WAIT_S)),
        *("-H", f"Authorization: Bearer {shared_gateway.key}"),
        *("-H", "Content-Type: application/json"),
        f"{base_url}/chat/completions",
    ]


def run(command: list[str], *options: str, body: str) -> str:
    done = subprocess.run(
        [*command, *options, "--data-binary", "@-"],
        input=body.encode(),
        capture_output=True,
        timeout=2 * WAIT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.decode()


def events_of(text: str) -> list[Any]:
    """Return the events of a whole stream: one `data:` line each, [DONE] the last."""
    *events, end = text.split("\n\n")
    assert end == ""
    assert events.pop() == "data: [DONE]"
    assert all(event.startswith("data: {") and "\n" not in event for event in events)
    return [json.loads(event.removeprefix("data: ")) for event in events]


@pytest.mark.parametrize("version", ["--http1.1", "--http1.0"])
def test_curl_reads_a_whole_stream(curl: list[str], version: str) -> None:
    text = run(curl, "--no-buffer", version, body=body_of("script:tokens=5", stream=True))

    events = events_of(text)
    assert said_by(events).split() == [f"tok{n}" for n in range(5)]
    assert events[-1]["usage"]["completion_tokens"] == 5


def test_curl_sees_each_token_when_it_comes(
    curl: list[str], shared_gateway: GatewayServer, upstream: UpstreamServer
) -> None:
    command = [*curl, "--no-buffer", "--data", body_of("script:stall_after=3", stream=True)]

    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        lines = (line.strip() for line in process.stdout)
        chunks = [json.loads(line[6:]) for line in (next(lines) for _ in range(7)) if line]
        process.terminate()

    said = [chunk["choices"][0]["delta"]["content"] for chunk in chunks]
    record = assert_left(shared_gateway, upstream, chunks[0]["id"].removeprefix("chatcmpl-"))
    assert said == ["", "tok0 ", "tok1 ", "tok2 "]
    assert record["tokens_completion"] == 3


def test_a_buffered_call_ends_when_curl_does(
    curl: list[str], shared_gateway: GatewayServer, upstream: UpstreamServer
) -> None:
    before = calls_begun(upstream)
    command = [*curl, "--data", body_of("script:hang")]

    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        call_id = wait_for_call(upstream, before)
        process.terminate()

    assert_prompt_paid(assert_left(shared_gateway, upstream, call_id))


@pytest.mark.parametrize("version", ["--http1.1", "--http1.0"])
def test_curl_reads_a_buffered_answer_with_its_headers(curl: list[str], version: str) -> None:
    text = run(curl, "--include", version, body=body_of("script:tokens=5"))

    head, _, body = text.partition("\r\n\r\n")
    answer = json.loads(body)
    headers = dict(line.lower().split(": ", 1) for line in head.split("\r\n")[1:])
    assert head.split("\r\n")[0].endswith(" 200 OK")
    assert headers["content-length"] == str(len(body.encode()))
    assert f"chatcmpl-{headers['x-request-id']}" == answer["id"]


def test_curl_that_asks_for_leave_to_send_a_large_body_gets_it(curl: list[str]) -> None:
    large = "abcdefghijklmnopqrs " * 100_000  # 2 MB that fit into the model's context
    leave = ("-H", "Expect: 100-continue", "--expect100-timeout", str(2 * WAIT_S))

    text = run(curl, *leave, body=body_of(large))

    assert json.loads(text)["usage"]["prompt_tokens"] == 100_000


def test_a_stream_is_not_compressed(curl: list[str]) -> None:
    text = run(curl, "--compressed", "--include", body=body_of("Hello", stream=True))

    assert "content-encoding" not in text.lower()
    assert text.endswith("data: [DONE]\n\n")


def test_curl_is_told_of_a_failure_in_json(curl: list[str]) -> None:
    text = run(curl, "--include", body='{"model": "fake-model", "messages": [')

    head, _, body = text.partition("\r\n\r\n")
    assert " 400 " in head.split("\r\n")[0]
    assert json.loads(body)["error"]["code"] == "invalid_json"


@pytest.mark.parametrize("stream", [False, True], ids=["buffered", "streamed"])
def test_curl_is_told_what_the_provider_refused(curl: list[str], stream: bool) -> None:
    text = run(curl, "--include", body=body_of("script:fail=429", stream=stream))

    head, _, body = text.partition("\r\n\r\n")
    assert " 429 " in head.split("\r\n")[0]
    assert json.loads(body)["error"]["code"] == "provider_rate_limit"


def test_curl_reads_an_answer_that_fits_a_schema(curl: list[str]) -> None:
    place = {"properties": {"place": {"type": "string"}}, "required": ["place"]}
    schema = {"name": "forecast", "schema": {"type": "object"} | place}
    asked = {"response_format": {"type": "json_schema", "json_schema": schema}}

    buffered = json.loads(run(curl, body=body_of("Paris", **asked)))
    streamed = events_of(run(curl, "--no-buffer", body=body_of("Paris", **asked, stream=True)))

    text = buffered["choices"][0]["message"]["content"]
    assert json.loads(text) == {"place": "tok0"}
    assert said_by(streamed) == text


@contextmanager
def asked(server: GatewayServer, path: str, body: str) -> Iterator[socket.socket]:
    """Send a request over a socket of our own."""
    head = (
        f"POST {path}/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
        f"Authorization: Bearer {server.key}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body.encode())}\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", server.port), timeout=WAIT_S) as connection:
        connection.sendall(head.encode() + body.encode())
        yield connection


def pieces_of(read: bytes) -> list[bytes]:
    """Return the HTTP chunks in what one recv gave. Fails when the last is not whole."""
    pieces = []
    while read:
        size, found, rest = read.partition(b"\r\n")
        length = int(size, 16)
        assert found
        assert rest[length : length + 2] == b"\r\n", f"a piece was torn: {read[-80:]!r}"
        pieces.append(rest[:length])
        read = rest[length + 2 :]
    return pieces


def said_in(piece: bytes) -> str:
    """The loop of many a browser page: split what was read, keep nothing for the next read."""
    said = ""
    for line in piece.decode().split("\n"):
        if line.startswith("data: "):
            data = line[6:]
            if data == "[DONE]":
                break
            said += json.loads(data)["choices"][0]["delta"].get("content") or ""
    return said


SCRIPTS = {
    "one write": ("script:tokens=200", 200),
    "cut at every seventh byte": ("script:tokens=40&chunk_bytes=7", 40),
    "cut within letters": (f"script:text={HARD_TO_CUT}&chunk_bytes=1", 4),
    "paced": ("script:tokens=20&delay_ms=2", 20),
}


@pytest.mark.parametrize("options", [{}, WITHOUT_USAGE], ids=["absent", "off"])
@pytest.mark.parametrize(("script", "words"), SCRIPTS.values(), ids=SCRIPTS)
@pytest.mark.parametrize("mount", ["/v1", "/api/v1"])
def test_a_client_that_joins_no_reads_loses_nothing(
    shared_gateway: GatewayServer, mount: str, script: str, words: int, options: dict[str, Any]
) -> None:
    with asked(shared_gateway, mount, body_of(script, stream=True, **options)) as connection:
        reads = list(iter(lambda: connection.recv(RECV_BYTES), b""))

    head, _, rest = reads[0].partition(b"\r\n\r\n")
    pieces = [piece for read in (rest, *reads[1:]) for piece in pieces_of(read)]
    assert re.match(rb"HTTP/1.1 200 ", head)
    assert pieces.pop() == b""  # the chunk that ends the body
    assert all(piece.endswith(b"\n\n") for piece in pieces)
    assert all(len(piece) <= WRITE_BYTES for piece in pieces)
    assert pieces[-1].endswith(b"data: [DONE]\n\n")
    assert len("".join(said_in(piece) for piece in pieces).split()) == words
