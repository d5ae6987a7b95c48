"""HTTP/1.0, which old programs still speak: it knows no chunks and no interim answers."""

from __future__ import annotations

import json

import pytest

from tests.corpus.oracle import Witness
from tests.corpus.wire import Line, request, with_key
from tests.flows.caller import Caller, said_by
from tests.flows.site import Site

OLD = "POST /v1/chat/completions HTTP/1.0"
STREAMED = json.dumps(
    {
        "model": "fake-model",
        "stream": True,
        "messages": [{"role": "user", "content": "script:tokens=200&delay_ms=1"}],
    }
).encode()


def listen_to_the_end(line: Line) -> tuple[str, bytes]:
    """Return the head of the only answer, in small letters, and all that follows it."""
    received = b"".join(iter(lambda: line.socket.recv(65_536), b""))
    head, _, body = received.partition(b"\r\n\r\n")
    return head.decode().lower(), body


@pytest.mark.parametrize("connection", ["close", "keep-alive"])
def test_a_stream_ends_with_its_connection_and_has_no_chunks(
    site: Site, healthy: Caller, witness: Witness, connection: str
) -> None:
    witness.expected_calls = 1
    raw = request(f"Connection: {connection}", line=OLD, body=STREAMED)

    with Line(site.gateway.port) as line:
        line.send(with_key(raw, healthy.secret))
        head, body = listen_to_the_end(line)

    *events, end = body.decode().split("\n\n")
    assert end == ""
    assert events.pop() == "data: [DONE]"
    said = said_by([json.loads(event.removeprefix("data: ")) for event in events])
    assert len(said.split()) == 200
    assert "transfer-encoding" not in head
    assert "\r\nconnection: close" in head


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/v1/models"),
        ("GET", "/v1/none"),
        ("HEAD", "/v1/models"),
        ("GET", "/v1/openapi.json"),
    ],
)
def test_other_answers_are_whole(
    site: Site, healthy: Caller, witness: Witness, method: str, path: str
) -> None:
    raw = request(line=f"{method} {path} HTTP/1.0", body=b"", sized=False)

    with Line(site.gateway.port) as line:
        line.send(with_key(raw, healthy.secret))
        head, body = listen_to_the_end(line)

    assert "transfer-encoding" not in head
    assert bool(body) == (method == "GET")
    if body:
        assert f"\r\ncontent-length: {len(body)}\r\n" in head


def test_nobody_is_told_to_continue(site: Site, healthy: Caller, witness: Witness) -> None:
    witness.expected_calls = 1
    raw = request("Expect: 100-continue", line=OLD)

    with Line(site.gateway.port) as line:
        line.send(with_key(raw, healthy.secret))
        head, body = listen_to_the_end(line)

    assert head.startswith("http/1.1 200 ok")
    assert json.loads(body)["object"] == "chat.completion"
