"""Plays one scripted answer of the Gemini API; everything but the dialect is as for OpenAI's."""

from __future__ import annotations

from typing import Any

import msgspec

from tests.fakes.asked import Chat, Request
from tests.fakes.book import Entry
from tests.fakes.gemini.asked import tells_thoughts
from tests.fakes.gemini.dialect import GeminiWriter
from tests.fakes.gemini.refused import CODES, RETRY, error_body
from tests.fakes.generation import SpokenCalls, Step
from tests.fakes.outgoing import Link
from tests.fakes.player import Player
from tests.fakes.script import Script


class GeminiPlayer(Player):
    """One answer to one request."""

    def __init__(
        self, link: Link, request: Request, chat: Chat, script: Script, entry: Entry, serial: int
    ) -> None:
        super().__init__(link, request, chat, script, entry, serial)
        self._generation = SpokenCalls(chat, script, request)
        tells = tells_thoughts(msgspec.json.decode(request.body))
        self._gemini = GeminiWriter(chat, script, entry, serial, tells_thoughts=tells)
        self._said: list[Step] = []
        # The call that is being generated: it is said when it is whole.
        self._call: list[Step] = []

    def _refusal_body(self) -> tuple[bytes, str]:
        script = self._script
        if script.body not in ("json", "array"):
            return super()._refusal_body()
        status = "" if script.code == "scripted" else script.code
        delay = {"@type": RETRY, "retryDelay": script.retry_delay}
        details = [delay] if script.retry_delay else []
        error = error_body(script.fail, script.message, status=status, details=details)
        return msgspec.json.encode([error] if script.body == "array" else error), "application/json"

    async def _say(self, response: dict[str, Any]) -> None:
        await self._out.send(self._speller.event(self._gemini.encode(response)))

    async def _start_stream(self) -> None:
        await self._out.send(self._speller.opening())

    async def _say_steps(self, pending: list[Step]) -> None:
        steps = list(pending)
        pending.clear()
        self._said += steps
        if steps[0].kind == "tool":
            await self._say_call()
        if steps[0].kind in ("tool", "args"):
            self._call += steps
            return
        if parts := self._gemini.parts(steps):
            logprobs = self._gemini.logprobs(steps)
            await self._say(self._gemini.response(parts, logprobs=logprobs))

    async def _say_call(self) -> None:
        if self._call:
            parts = self._gemini.parts(self._call)
            self._call = []
            await self._say(self._gemini.response(parts))

    async def _say_error(self) -> None:
        status = "UNAVAILABLE" if self._script.code == "scripted" else self._script.code
        error = error_body(CODES.get(status, 500), self._script.message, status=status)
        await self._out.send(self._speller.event(msgspec.json.encode(error)))

    async def _end_stream(self) -> None:
        script, out, writer = self._script, self._out, self._gemini
        await self._say_call()
        if script.truncate:
            await out.break_off("truncate")
        if script.usage_gate:
            await self._link.passed(script.usage_gate)
        self._report()
        last = writer.response(writer.last_parts(self._said), self._generation.finish)
        if script.blocked:
            last = writer.blocked()
        await out.send(self._speller.finish(writer.encode(last)))
        await out.finish()

    async def _answer(self) -> None:
        steps = [step async for step in self._steps()]
        writer = self._gemini
        self._report()
        parts = writer.parts(steps) + writer.last_parts(steps)
        whole = writer.response(parts, self._generation.finish, writer.logprobs(steps))
        if self._script.blocked:
            whole = writer.blocked()
        await self._send_whole(writer.encode(whole))

    def _report(self) -> None:
        usage = self._gemini.usage()
        self._entry.report(None if usage is msgspec.UNSET else usage)
