"""The load driver: keep-alive connections that call as fast as answers come, at little cost.

A raw protocol and a C parser, because a driver that is slower than what it measures measures
itself. Every answer is checked: another status than 200, or an answer without its end, is an
error, and a round with errors is no result.
"""

from __future__ import annotations

import asyncio
import json
import time
from array import array
from functools import partial
from typing import Any, cast

import httptools

from bench.programs import BenchError

TAIL_BYTES = 32
# How long after the end of a round the last answers may take.
ANSWER_S = 30.0
PROMPT = "You are terse. What is the capital of France, and how many people live there today?"


def request_bytes(port: int, key: str, model: str, **fields: Any) -> bytes:
    """Return one chat-completions request; `prompt` may script the upstream."""
    prompt = fields.pop("prompt", PROMPT)
    messages = [{"role": "user", "content": prompt}]
    asked = {"model": model, "messages": messages, "max_tokens": 512} | fields
    return post_bytes(port, key, "/v1/chat/completions", asked)


def post_bytes(port: int, key: str, path: str, asked: dict[str, Any]) -> bytes:
    """Return one request of any endpoint."""
    body = json.dumps(asked).encode()
    head = (
        f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\n"
        f"authorization: Bearer {key}\r\ncontent-type: application/json\r\n"
        f"accept: application/json\r\nuser-agent: bench\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


class Round:
    """One stretch of closed-loop load and what it showed. Latencies are seconds."""

    def __init__(self, request: bytes, *, must_end_with: bytes, duration_s: float) -> None:
        self.request = request
        self.must_end_with = must_end_with
        self.latencies_s = array("d")
        self.errors: list[str] = []
        self.started_s = time.perf_counter()
        self.ends_s = self.started_s + duration_s

    @property
    def calls_per_s(self) -> float:
        return len(self.latencies_s) / (time.perf_counter() - self.started_s)


class Caller(asyncio.Protocol):
    """One connection. Calls until the round is over, then closes and resolves `finished`."""

    def __init__(self, run: Round, finished: asyncio.Future[None]) -> None:
        self._run = run
        self._finished = finished
        self._parser = httptools.HttpResponseParser(self)
        self._tail = b""
        self._sent_s = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports have the methods but not the base class.
        self._transport = cast(asyncio.Transport, transport)
        self._send()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self._finished.done():
            self._run.errors.append(f"connection lost: {exc!r}")
            self._finished.set_result(None)

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_body(self, data: bytes) -> None:
        self._tail = data if len(data) >= TAIL_BYTES else (self._tail + data)[-TAIL_BYTES:]

    def on_message_complete(self) -> None:
        now_s = time.perf_counter()
        run = self._run
        if self._parser.get_status_code() != 200 or run.must_end_with not in self._tail:
            run.errors.append(f"status {self._parser.get_status_code()}: {self._tail[-300:]!r}")
        else:
            run.latencies_s.append(now_s - self._sent_s)
        if now_s < run.ends_s and len(run.errors) < 10:
            self._send()
        elif not self._finished.done():
            self._finished.set_result(None)
            self._transport.close()

    def _send(self) -> None:
        self._sent_s = time.perf_counter()
        self._transport.write(self._run.request)


async def call_in_a_loop(port: int, run: Round, connections: int) -> float:
    """Drive `connections` callers until the round ends; return answered calls per second.

    Raises BenchError when answers stay away.
    """
    loop = asyncio.get_running_loop()
    finished = [loop.create_future() for _ in range(connections)]
    run.started_s = time.perf_counter()
    for future in finished:
        await loop.create_connection(partial(Caller, run, future), "127.0.0.1", port)
    _, waiting = await asyncio.wait(finished, timeout=run.ends_s - run.started_s + ANSWER_S)
    if waiting:
        raise BenchError(f"{len(waiting)} of {connections} connections got no answer")
    return run.calls_per_s
