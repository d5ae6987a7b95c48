"""Callers that do not read: memory stays where it is, and they are cut when it has been long."""

from __future__ import annotations

import json
import socket
from pathlib import Path

from tests.flows.caller import CHAT, READ_S, Caller
from tests.flows.site import Site
from tests.support.waiting import wait_until

STREAMS = 20
MEGABYTE = 1024 * 1024


def open_unread(caller: Caller, prompt: str, more_head: str = "") -> socket.socket:
    """Ask for a stream and never read it, with as little room for it on our side as can be.

    more_head: whole lines."""
    body = {"model": caller.model, "messages": [{"role": "user", "content": prompt}]}
    data = json.dumps(body | {"stream": True}).encode()
    head = (
        f"POST {CHAT} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer {caller.secret}\r\n"
        f"content-type: application/json\r\ncontent-length: {len(data)}\r\n{more_head}\r\n"
    )
    wire = socket.socket()
    wire.settimeout(READ_S)
    wire.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    wire.connect(("127.0.0.1", caller.port))
    wire.sendall(head.encode() + data)
    return wire


def resident_bytes(pid: int) -> int:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * 4096


def test_streams_that_nobody_reads_cost_no_memory_and_are_cut(site: Site) -> None:
    model = site.add_model("long-model", max_output_tokens=1_000_000)
    caller = site.caller(credit_nusd=10**12).with_(model=model)
    # What a first call loads, and what a first estimate loads, is not counted.
    assert caller.stream("script:tokens=2000&usage=none").status == 200
    before_bytes = resident_bytes(site.gateway.process.pid)

    wires = [open_unread(caller, "script:endless&token_bytes=2000") for _ in range(STREAMS)]
    most_bytes = 0

    def are_cut() -> bool:
        nonlocal most_bytes
        most_bytes = max(most_bytes, resident_bytes(site.gateway.process.pid))
        found = site.office.do("records", key_id=caller.key_id)
        return [record["status"] for record in found].count("cancelled") == STREAMS

    wait_until(are_cut, what="all streams to be cut")
    assert most_bytes - before_bytes < STREAMS * MEGABYTE
    stalled = [r for r in site.records(caller, count=STREAMS + 1) if r["status"] == "cancelled"]
    assert {record["error_code"] for record in stalled} == {"client_stalled"}
    assert all(0 < record["charge_nusd"] <= record["hold_nusd"] for record in stalled)
    for record in stalled:
        site.wait_for_try(str(record["id"]), state="cancelled")
    for wire in wires:
        wire.close()


def test_a_slow_reader_gets_everything(site: Site) -> None:
    caller = site.caller(credit_nusd=10**12)
    with open_unread(caller, "script:tokens=3000") as wire:
        received = b""
        while not received.endswith(b"0\r\n\r\n") and (piece := wire.recv(65536)):
            received += piece

    assert b"tok2999 " in received
    assert received.count(b"[DONE]") == 1
    [record] = site.records(caller)
    assert (record["status"], record["completion_tokens"]) == ("ok", 3000)
