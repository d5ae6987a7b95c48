"""Plays one scripted answer of the Messages API; everything but the dialect is as for OpenAI's."""

from __future__ import annotations

from typing import Any

import msgspec

from tests.fakes.anthropic.dialect import CITATIONS, REDACTED, MessagesWriter, signature_of
from tests.fakes.anthropic.refused import error_body, error_object
from tests.fakes.anthropic.vertex import STATUS, google_error, is_vertex
from tests.fakes.asked import Chat, Request
from tests.fakes.book import Entry
from tests.fakes.generation import SpokenCalls, Step
from tests.fakes.outgoing import Link
from tests.fakes.player import Player
from tests.fakes.script import Script


class MessagesPlayer(Player):
    """One answer to one request."""

    def __init__(
        self, link: Link, request: Request, chat: Chat, script: Script, entry: Entry, serial: int
    ) -> None:
        super().__init__(link, request, chat, script, entry, serial)
        self._serial = serial
        self._is_vertex = is_vertex(request.path)
        self._generation = SpokenCalls(chat, script, request)
        self._messages = MessagesWriter(chat, script, entry, serial)
        self._out.extra_headers.append((b"request-id", self._messages.request_id.encode()))
        self._index = -1  # of the block that is open
        self._open: tuple[str, int] | None = None
        self._thought = ""

    def _refusal_body(self) -> tuple[bytes, str]:
        script = self._script
        if script.body != "json":
            return super()._refusal_body()
        if self._is_vertex and script.fail in STATUS:
            error: object = google_error(script.fail, script.message)
            return msgspec.json.encode(error), "application/json"
        kind = "" if script.code == "scripted" else script.code
        error = error_body(script.fail, script.message, self._messages.request_id, kind)
        return msgspec.json.encode(error), "application/json"

    async def _say(self, event: dict[str, Any]) -> None:
        data = self._messages.event(event)
        await self._out.send(self._speller.event(data, event["type"].encode()))

    async def _start_stream(self) -> None:
        await self._out.send(self._speller.opening())
        usage = self._messages.usage(is_first=True)
        start = self._messages.message([], None, usage)
        await self._say({"type": "message_start", "message": start})

    async def _say_steps(self, pending: list[Step]) -> None:
        first = pending[0]
        block = ("tool" if first.kind == "args" else first.kind, first.tool)
        if block != self._open:
            await self._end_block()
            await self._start_block(block, self._messages.start_of(first))
        if first.kind == "reasoning":
            self._thought += "".join(step.text for step in pending)
        delta = self._messages.delta_of(pending)
        await self._say({"type": "content_block_delta", "index": self._index, "delta": delta})
        pending.clear()

    async def _start_block(self, block: tuple[str, int], start: dict[str, Any]) -> None:
        is_first = self._index < 0
        if is_first and self._script.redacted:
            self._index += 1
            await self._say(_block_start(self._index, REDACTED))
            await self._say({"type": "content_block_stop", "index": self._index})
        self._index += 1
        self._open = block
        await self._say(_block_start(self._index, start))
        if is_first:
            await self._say({"type": "ping"})

    async def _end_block(self) -> None:
        if self._open is None:
            return
        delta: dict[str, Any] | None = None
        if self._open[0] == "reasoning":
            delta = {"type": "signature_delta", "signature": signature_of(self._thought)}
        elif self._open[0] == "content" and self._script.cites:
            delta = {"type": "citations_delta", "citation": CITATIONS[self._script.cites]}
        if delta is not None:
            await self._say({"type": "content_block_delta", "index": self._index, "delta": delta})
        await self._say({"type": "content_block_stop", "index": self._index})
        self._open = None

    async def _say_error(self) -> None:
        kind = "overloaded_error" if self._script.code == "scripted" else self._script.code
        await self._say(error_object(kind, self._script.message))

    async def _end_stream(self) -> None:
        script, out = self._script, self._out
        await self._end_block()
        if script.truncate:
            await out.break_off("truncate")
        if script.usage_gate:
            await self._link.passed(script.usage_gate)
        usage = self._messages.usage()
        self._entry.report(None if usage is msgspec.UNSET else usage)
        stop = self._messages.stop_reason(self._generation.finish)
        said = {"stop_reason": stop, "stop_sequence": "END" if stop == "stop_sequence" else None}
        event: dict[str, Any] = {"type": "message_delta", "delta": said}
        if usage is not msgspec.UNSET:
            event["usage"] = usage
        data = self._messages.event(event)
        await out.send(self._speller.finish(data, b"message_delta"))
        if not script.no_done:
            last = self._messages.event({"type": "message_stop"})
            late = {"type": "text_delta", "text": "late"}
            after = msgspec.json.encode({"type": "content_block_delta", "index": 0, "delta": late})
            await out.send(self._speller.closing(after, last, b"message_stop"))
        await out.finish()

    async def _answer(self) -> None:
        steps = [step async for step in self._steps()]
        usage = self._messages.usage()
        self._entry.report(None if usage is msgspec.UNSET else usage)
        body = self._messages.body(steps, self._generation.finish, usage)
        await self._send_whole(body)


def _block_start(index: int, block: dict[str, Any]) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": block}
