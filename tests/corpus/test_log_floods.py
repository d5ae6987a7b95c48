"""What strangers can have written into the log: short lines, and few of them."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway.config.log_limits import LINES
from tests.corpus.wire import Line, request
from tests.support.servers import GatewayServer, running_gateway
from tests.support.waiting import wait_until

EVIL = "%0AWARNING%20forged:%20line%1b%5b31m"
FORM = "Content-Type: application/x-www-form-urlencoded"
# What anybody can send, as often as they like; each to be refused, or to be led to sign in.
ANONYMOUS = {
    "404": request(line=f"GET /{'a' * 6_000}{EVIL} HTTP/1.1", key=None, body=b""),
    "404 of the API": request(line=f"GET /v1/{'b' * 6_000}{EVIL} HTTP/1.1", key=None, body=b""),
    "another spelling": request(line=f"GET /%76%31/{EVIL} HTTP/1.1", key=None, body=b""),
    "403, no token": request(FORM, line="POST /sign-in HTTP/1.1", key=None, body=b"login=a"),
    "403, foreign": request(
        *(FORM, "Origin: https://evil.example", "Referer: https://evil.example/" + "r" * 5_000),
        line="POST /sign-in HTTP/1.1",
        key=None,
        body=b"login=a",
    ),
    "405": request(line="DELETE /sign-in HTTP/1.1", key=None, body=b""),
    "400, fields": request(FORM, line="POST /sign-in HTTP/1.1", key=None, body=b"a=&" * 1_500),
    "400, multipart": request(
        *("Content-Type: multipart/form-data; boundary=x",),
        line="POST /sign-in HTTP/1.1",
        key=None,
        body=b"--x\r\nnonsense",
    ),
    "400, host": request(host="Host: evil.example" + "h" * 5_000),
    "400, framing": b"\x16\x03\x01" + b"z" * 300 + b"\r\n\r\n",
    "400, place": request(line="GET /calls?after=x HTTP/1.1", key=None, body=b""),
    "413": request(
        "Content-Length: 90000000", line="POST /sign-in HTTP/1.1", sized=False, body=b""
    ),
    "414": request(line=f"GET /{'a' * 9_000} HTTP/1.1", key=None, body=b""),
    "415": request("Content-Type: application/json; charset=utf-16", key="sk-gw-nobody"),
    "401": request(key="sk-gw-nobody"),
    "417": request("Expect: miracles"),
    "upgrade": request("Connection: Upgrade", "Upgrade: websocket", key=None),
    "half a request": b"POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Le",
}
TIMES = 3 * LINES


@pytest.fixture(scope="module")
def server(
    home_template: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[GatewayServer]:
    home = Path(shutil.copytree(home_template, tmp_path_factory.mktemp("floods") / "home"))
    with running_gateway(home, env={"TOLLHOUSE_IDLE_CONNECTIONS": "65535"}) as running:
        yield running


def flood(server: GatewayServer, raw: bytes) -> int:
    """Send it over and over, and return how many bytes the log grew by."""
    before = server.log.stat().st_size
    for _ in range(TIMES):
        with Line(server.port, "127.0.0.1") as line:
            line.send(raw)
            line.end()
            line.listen()
    wait_until(lambda: is_quiet(server), what="the log to be quiet")
    return server.log.stat().st_size - before


def is_quiet(server: GatewayServer) -> bool:
    """True when another request has been answered, and nothing is left to be logged."""
    with Line(server.port, "127.0.0.1") as line:
        line.send(request(line="GET /v1/health HTTP/1.1", key=None, body=b""))
        return line.listen(answers=1).answer.status == 200


@pytest.mark.parametrize("kind", ANONYMOUS)
def test_a_stranger_writes_few_and_short_lines(server: GatewayServer, kind: str) -> None:
    begun = server.log.stat().st_size

    grown = flood(server, ANONYMOUS[kind])

    written = server.log.read_bytes()[begun:]
    lines = written.splitlines()
    assert max(map(len, lines), default=0) <= 200, lines
    assert len(lines) <= LINES + 10
    assert grown <= (LINES + 10) * 200
    assert b"Traceback" not in written
    assert not any(line.startswith(b"WARNING forged") for line in lines)
    assert b"\x1b" not in written
