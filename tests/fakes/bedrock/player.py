"""Plays one scripted answer of Converse; everything but the dialect is as for OpenAI's."""

from __future__ import annotations

import msgspec

from tests.fakes.asked import Chat, Request
from tests.fakes.bedrock.dialect import REDACTED, ConverseWriter
from tests.fakes.bedrock.refused import name_refusal, write_failure
from tests.fakes.book import Entry
from tests.fakes.generation import Generation, Step
from tests.fakes.outgoing import Link
from tests.fakes.player import Player
from tests.fakes.script import Script
from tests.support.event_stream import write_event

EVENT_STREAM = "application/vnd.amazon.eventstream"


class ConversePlayer(Player):
    """One answer to one request."""

    stream_type = EVENT_STREAM

    def __init__(
        self, link: Link, request: Request, chat: Chat, script: Script, entry: Entry, serial: int
    ) -> None:
        super().__init__(link, request, chat, script, entry, serial)
        self._generation = Generation(chat, script, request)
        self._converse = ConverseWriter(script, entry, serial)
        self._index = -1  # of the block that is open
        self._open: tuple[str, int] | None = None

    def _refusal_body(self) -> tuple[bytes, str]:
        if self._script.body != "json":
            return super()._refusal_body()
        self._out.extra_headers += name_refusal(self._script)
        return msgspec.json.encode({"message": self._script.message}), "application/json"

    async def _start_stream(self) -> None:
        await self._say("messageStart", {"role": "assistant"})

    async def _intrude(self) -> None:
        if self._script.plant:
            name, _, payload = self._script.plant.partition(" ")
            await self._out.send(write_event(name, payload.encode()))

    async def _say(self, name: str, payload: dict[str, object]) -> None:
        await self._out.send(self._converse.event(name, payload))

    async def _say_steps(self, pending: list[Step]) -> None:
        first = pending[0]
        block = ("tool" if first.kind == "args" else first.kind, first.tool)
        if block != self._open:
            await self._end_block()
            await self._start_block(block, first)
        if (delta := self._converse.delta_of(pending)) is not None:
            await self._add(delta)
        pending.clear()

    async def _start_block(self, block: tuple[str, int], first: Step) -> None:
        if self._index < 0 and self._script.redacted:
            self._index += 1
            await self._add({"reasoningContent": {"redactedContent": REDACTED}})
            await self._say("contentBlockStop", {"contentBlockIndex": self._index})
        self._index += 1
        self._open = block
        if (start := self._converse.start_of(first)) is not None:
            said = {"start": start, "contentBlockIndex": self._index}
            await self._say("contentBlockStart", said)

    async def _add(self, delta: dict[str, object]) -> None:
        said = {"delta": delta, "contentBlockIndex": self._index}
        await self._say("contentBlockDelta", said)

    async def _end_block(self) -> None:
        if self._open is None:
            return
        if self._open[0] == "reasoning":
            await self._add({"reasoningContent": {"signature": self._converse.signature}})
        await self._say("contentBlockStop", {"contentBlockIndex": self._index})
        self._open = None

    async def _say_error(self) -> None:
        await self._out.send(write_failure(self._script))

    async def _end_stream(self) -> None:
        script, out = self._script, self._out
        await self._end_block()
        if script.truncate:
            await out.break_off("truncate")
        reason = self._converse.stop_reason(self._generation.finish)
        await self._say("messageStop", {"stopReason": reason})
        if script.usage_gate:
            await self._link.passed(script.usage_gate)
        usage = self._converse.usage()
        self._entry.report(None if usage is msgspec.UNSET else usage)
        if not script.no_done:
            metadata: dict[str, object] = {"metrics": {"latencyMs": 12}}
            if usage is not msgspec.UNSET:
                metadata["usage"] = usage
            await self._say("metadata", metadata)
        await out.finish()

    async def _answer(self) -> None:
        steps = [step async for step in self._steps()]
        usage = self._converse.usage()
        self._entry.report(None if usage is msgspec.UNSET else usage)
        await self._send_whole(self._converse.body(steps, self._generation.finish, usage))
