"""The version before is killed with calls in its journal; this version takes its home over."""

from __future__ import annotations

import json
import socket
import sqlite3
import subprocess
import urllib.request
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import add_fake_model
from tests.faults.calling import call, call_until_drawn
from tests.support.require import do_without
from tests.support.rows import FILE, locked_database
from tests.support.servers import (
    ROOT,
    GatewayServer,
    UpstreamServer,
    manage_json,
    prepare_home,
    running_gateway,
)
from tests.support.waiting import wait_until

# The last commit whose journals have records as arrays (gateway.journal.array_records).
COMMIT = "e9cb7cb"
OF_RECORD = (
    "id, status, charge_nusd > 0, streamed, completion_tokens, reasoning_tokens, provider,"
    " finish_reason, attempts"
)
RUNNING = "SELECT id FROM gateway_callrecord WHERE status = 'in_progress'"
ONCE = {"idempotency_key": "once", "script": "tokens=5&first_ms=3000"}
STREAM_ONCE = {"idempotency_key": "stream-once", "script": ONCE["script"], "stream": True}


@dataclass
class Calls:
    """What the version before has answered. Ids are those of records; `once` and `stream_once` have
    their answers too."""

    posted: list[str]
    buffered: str
    fake: str
    streamed: str
    left: str
    once: tuple[str, bytes]
    stream_once: tuple[str, bytes]

    def ended_well(self) -> list[str]:
        ids = [self.buffered, self.fake, self.streamed, self.once[0], self.stream_once[0]]
        return self.posted + ids


@pytest.fixture
def root_before(tmp_path: Path) -> Path:
    """The files of the version before."""
    archive = subprocess.run(
        ["git", "archive", COMMIT], cwd=ROOT, capture_output=True, check=False, timeout=60
    )
    if archive.returncode:
        do_without(f"commit {COMMIT} is not here: this copy was made without history")
    root = tmp_path / "before"
    root.mkdir()
    subprocess.run(["tar", "-x", "-C", str(root)], input=archive.stdout, check=True, timeout=60)
    return root


@pytest.fixture
def gateway_before(
    root_before: Path, tmp_path: Path, upstream: UpstreamServer
) -> Iterator[GatewayServer]:
    """The version before, serving a home that it has made itself."""
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    prepare_home(home, root=root_before)
    with running_gateway(home, root=root_before) as server:
        add_fake_model(server, upstream)
        yield server


def request_of(server: GatewayServer, **options: Any) -> urllib.request.Request:
    key = options.pop("idempotency_key", "")
    script = options.pop("script")
    body = {"model": "fake-model", "max_tokens": 50, **options}
    body["messages"] = [{"role": "user", "content": f"script:{script}"}]
    headers = {"Authorization": f"Bearer {server.key}", "Content-Type": "application/json"}
    if key:
        headers["Idempotency-Key"] = key
    address = f"{server.base_url}/chat/completions"
    return urllib.request.Request(address, data=json.dumps(body).encode(), headers=headers)


def ask(server: GatewayServer, **options: Any) -> tuple[str, bytes]:
    """Make a call; return its id as records have it, and the answer."""
    with urllib.request.urlopen(request_of(server, **options), timeout=60) as answer:
        return answer.headers["x-request-id"].replace("-", ""), answer.read()


def generation(server: GatewayServer, call_id: str) -> dict[str, Any]:
    """Return a call as its generation lookup shows it."""
    request = urllib.request.Request(
        f"{server.base_url}/generation?id={uuid.UUID(call_id)}",
        headers={"Authorization": f"Bearer {server.key}"},
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        found: dict[str, Any] = json.load(answer)["data"]
    return found


def leave(server: GatewayServer) -> str:
    """Begin a stream and hang up after its first piece; return the id of the call."""
    request = request_of(server, script="tokens=50&delay_ms=200", stream=True)
    assert isinstance(request.data, bytes)
    lines = [f"POST {request.selector} HTTP/1.1", f"Host: 127.0.0.1:{server.port}"]
    lines += [f"{name}: {value}" for name, value in request.header_items()]
    lines += [f"Content-Length: {len(request.data)}", "", ""]
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as caller:
        caller.sendall("\r\n".join(lines).encode() + request.data)
        received = b""
        while b"tok1" not in received:
            received += caller.recv(65_536)
    head = received.partition(b"\r\n\r\n")[0].decode().lower().splitlines()
    [call_id] = [line.partition(": ")[2] for line in head if line.startswith("x-request-id: ")]
    return call_id.replace("-", "")


def read(home: Path, query: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(home / FILE)) as book:
        return book.execute(query).fetchall()


def journal_bytes(home: Path) -> bytes:
    return b"".join(path.read_bytes() for path in (home / "journal").rglob("*.journal"))


def fill_journal(server: GatewayServer, upstream: UpstreamServer) -> Calls:
    """Make calls of every kind that end while nothing can be posted, and kill the server."""
    home = server.home
    upstream.clear()
    posted = call_until_drawn(server)

    def running() -> int:
        return [entry["state"] for entry in upstream.book()].count("running")

    def has_told_the_hang_up() -> bool:
        return b"\xa9cancelled" in journal_bytes(home)

    with ThreadPoolExecutor(2) as threads:
        once, stream_once = (threads.submit(ask, server, **it) for it in (ONCE, STREAM_ONCE))
        wait_until(lambda: running() == 2, what="the calls with a key to be at the provider")
        with locked_database(home):
            calls = Calls(
                posted=posted,
                buffered=call(server).call_id,
                fake=ask(server, script="tokens=7&reasoning=2")[0],
                streamed=ask(server, script="tokens=6", stream=True)[0],
                left=leave(server),
                once=once.result(),
                stream_once=stream_once.result(),
            )
            wait_until(has_told_the_hang_up, what="the end of the call that was left")
            server.kill()
            assert not read(home, f"SELECT id FROM gateway_callrecord WHERE id = '{calls.fake}'")
    assert b"\xa1s\xd9$" in journal_bytes(home)  # an array: the tag of an end, then the id
    return calls


def test_a_journal_of_the_version_before_is_posted_proved_and_replayed(
    gateway_before: GatewayServer, upstream: UpstreamServer
) -> None:
    calls, home = fill_journal(gateway_before, upstream), gateway_before.home

    prepare_home(home)
    with running_gateway(home) as today:
        wait_until(lambda: not read(home, RUNNING), what="the journal to be posted")
        again = [ask(today, **options)[1] for options in (ONCE, STREAM_ONCE)]
        newer = call(today).call_id
        shown = generation(today, calls.fake)
        today.stop()

    records = {row[0]: row[1:] for row in read(home, f"SELECT {OF_RECORD} FROM gateway_callrecord")}
    assert {records[call_id][:2] for call_id in [*calls.ended_well(), newer]} == {("ok", 1)}
    assert records[calls.left][0] == "cancelled"
    assert (records[calls.buffered][2], records[calls.streamed][2]) == (0, 1)
    assert records[calls.fake][3:7] == (9, 2, "fake", "stop")
    [attempt] = json.loads(records[calls.fake][7])
    assert attempt.pop("us") > 0
    assert attempt == {"provider": "fake", "model": "fake", "code": "", "status": 200}
    assert again == [calls.once[1], calls.stream_once[1]]
    assert shown["ingress_format"] == "chat_completions"
    proof = manage_json(home, "prove")
    assert (proof["breaks"], proof["journal_faults"]) == ([], [])
    assert not list((home / "journal").iterdir())
