"""Plays one scripted answer: generates token by token, on time, and breaks where it is told to."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator
from typing import Any

from tests.fakes import book
from tests.fakes.asked import Chat, Request
from tests.fakes.book import Entry
from tests.fakes.dialect import LEFT_OUT, Writer, encode, refusal, usage_of
from tests.fakes.generation import BIG_MARK, Generation, Step
from tests.fakes.outgoing import BrokenOff, Link, Outgoing
from tests.fakes.script import NEVER, Script
from tests.fakes.spelling import Speller

EVENT_STREAM = "text/event-stream; charset=utf-8"


class Player:
    """One answer to one request. `play` ends the book's entry, unless it is cancelled first."""

    stream_type = EVENT_STREAM

    def __init__(
        self, link: Link, request: Request, chat: Chat, script: Script, entry: Entry, serial: int
    ) -> None:
        self._link = link
        self._chat = chat
        self._script = script
        self._entry = entry
        self._generation = Generation(chat, script, request)
        self._writer = Writer(chat, script, serial)
        self._speller = Speller(script)
        self._out = Outgoing(link, script, keep_alive=request.keep_alive)
        if script.noted:
            entry.body = request.body.decode()

    async def play(self) -> None:
        script = self._script
        try:
            if script.hang:
                await asyncio.Event().wait()
            await asyncio.sleep(script.first_ms / 1000)
            if script.gate and script.stall_after == NEVER:
                await self._link.passed(script.gate)
            if script.drop:
                await self._out.break_off(script.drop)
            if self._is_refused:
                await self._refuse()
                self._entry.end(book.FAILED)
                return
            await (self._stream() if self._chat.stream else self._answer())
            self._entry.end(book.DONE)
        except BrokenOff:
            self._entry.end(book.BROKEN)

    @property
    def _is_refused(self) -> bool:
        script, entry = self._script, self._entry
        if not script.fail or entry.model == script.fail_but != "":
            return False
        return not 0 < script.fail_times < entry.attempt

    async def _refuse(self) -> None:
        body, content_type = self._refusal_body()
        self._out.open(self._script.fail, content_type, length=len(body))
        await self._out.send(body)
        await self._out.finish()

    def _refusal_body(self) -> tuple[bytes, str]:
        return refusal(self._script)

    async def _steps(self) -> AsyncIterator[Step]:
        """Generate on schedule, counting in the book; `delay_ms` lies between two tokens."""
        script, entry = self._script, self._entry
        loop = asyncio.get_running_loop()
        due_s = loop.time()
        steps = iter(self._generation)
        for count in itertools.count():
            # Waiting comes first: a token's stamp is the moment it is written.
            if count == script.stall_after:
                await self._stall()
                due_s = loop.time()
            if count and script.delay_ms:
                due_s += script.delay_ms / 1000
                await asyncio.sleep(max(0.0, due_s - loop.time()))
            elif not count % 1000:
                await asyncio.sleep(0)
            step = next(steps, None)
            if step is None:
                break
            entry.completion_tokens += self._chat.n or 1
            if step.kind == "reasoning":
                entry.reasoning_tokens += self._chat.n or 1
            yield step

    async def _stall(self) -> None:
        if self._script.gate:
            await self._link.passed(self._script.gate)
            return
        if self._script.stall_ms == NEVER:
            await asyncio.Event().wait()
        await asyncio.sleep(self._script.stall_ms / 1000)

    async def _stream(self) -> None:
        script, out = self._script, self._out
        out.open(200, self.stream_type, length=None)
        await self._start_stream()
        await self._break_if_due(0)
        count = 0
        pending: list[Step] = []
        async for step in self._steps():
            count += 1
            if pending and (pending[0].kind, pending[0].tool) != (step.kind, step.tool):
                await self._say_steps(pending)
            pending.append(step)
            if len(pending) >= script.per_event or step.kind == "tool":
                await self._say_steps(pending)
            if count == 1:
                await self._intrude()
            await self._break_if_due(count)
        if pending:
            await self._say_steps(pending)
        await self._end_stream()

    async def _start_stream(self) -> None:
        await self._say_chunks(b'{"role":"assistant","content":"","refusal":null}')

    async def _say_steps(self, pending: list[Step]) -> None:
        for choice in range(self._chat.n or 1):
            await self._out.send(self._speller.event(self._writer.step_chunk(choice, pending)))
        pending.clear()

    async def _intrude(self) -> None:
        await self._out.send(self._speller.intrusion())

    async def _say_chunks(self, delta: bytes) -> None:
        await self._out.send(self._speller.opening())
        for choice in range(self._chat.n or 1):
            await self._out.send(self._speller.event(self._writer.chunk(choice, delta)))

    async def _break_if_due(self, count: int) -> None:
        script = self._script
        if count == script.error_after:
            await self._say_error()
            await self._out.break_off("truncate")
        if count == script.reset_after:
            await self._out.break_off("reset")
        if count == script.truncate_after:
            await self._out.break_off("truncate")
        if count == script.close_after:
            await self._out.break_off("close")

    async def _say_error(self) -> None:
        error = {"message": self._script.message, "type": "server_error", "code": 500}
        await self._out.send(self._speller.event(encode({"error": error})))

    async def _end_stream(self) -> None:
        script, out = self._script, self._out
        if script.truncate:
            await out.break_off("truncate")
        reason = self._generation.finish
        for choice in range(self._chat.n or 1):
            chunk = self._writer.chunk(choice, b"{}", finish=reason)
            await out.send(self._speller.finish(chunk))
        if script.usage_gate:
            await self._link.passed(script.usage_gate)
        usage = self._reported_usage()
        if self._chat.wants_usage and usage is not LEFT_OUT:
            self._entry.report(usage)
            await out.send(self._speller.event(self._writer.usage_chunk(usage)))
        if not script.no_done:
            await out.send(self._speller.closing(self._writer.chunk(0, b'{"content":"late"}')))
        await out.finish()

    def _reported_usage(self) -> Any:
        return usage_of(self._script, self._entry)

    async def _answer(self) -> None:
        await self._send_answer([step async for step in self._steps()])

    async def _send_answer(self, steps: list[Step]) -> None:
        usage = self._reported_usage()
        self._entry.report(usage)
        await self._send_whole(self._writer.body(steps, self._generation.finish, usage))

    async def _send_whole(self, body: bytes) -> None:
        script, out = self._script, self._out
        breaks = script.truncate or script.stops_at != NEVER
        truncates = script.truncate or script.truncate_after != NEVER
        extra = script.big_bytes - len(BIG_MARK) if script.big_bytes else 0
        length = None if truncates or script.truncate_at_byte != NEVER else len(body) + extra
        out.open(200, "application/json", length=length)
        if breaks:
            await out.send(body[: len(body) // 2])
            how = "reset" if script.reset_after != NEVER else "close"
            await out.break_off("truncate" if truncates else how)
        await out.send(body)
        await out.finish()
