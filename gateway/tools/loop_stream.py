"""The rounds of a tool loop as one stream: text is passed on as it comes, and tools run between
rounds while their events go out."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Protocol

from gateway.core.errors import UpstreamError
from gateway.core.events import (
    Delta,
    Finish,
    StreamEnd,
    StreamEvent,
    TakeEvents,
    UsageReported,
)
from gateway.core.json_types import JsonObject
from gateway.core.money import Usage
from gateway.streaming.relay import Exchange, Stream
from gateway.tools.rounds import Said, ToolRequest, add_usage
from gateway.tools.runner import Tell
from gateway.tools.sources import separator


class Loop(Protocol):
    """What is streamed (gateway.tools.loop)."""

    @property
    def is_exhausted(self) -> bool: ...

    def is_ours(self, request: ToolRequest) -> bool: ...

    async def run(
        self, said: Said, wanted: Sequence[ToolRequest], usage: Usage | None, tell: Tell
    ) -> list[JsonObject]: ...

    def annotations(self, text: str) -> list[JsonObject]: ...

    async def next_exchange(self, used: Usage | None) -> Exchange | None: ...


class LoopStream:
    """A Stream (gateway.streaming.relay)."""

    def __init__(self, loop: Loop, stream: Stream) -> None:
        self.omits_finish_reason = stream.omits_finish_reason
        self._loop = loop
        self._stream: Stream | None = stream
        self._usage: Usage | None = Usage()
        self._text = ""
        self._round = Round("")
        self._is_over = False
        # What is to be handed over, and what makes more of it while no provider is asked.
        self._ready: list[StreamEvent] = []
        self._work: asyncio.Task[None] | None = None
        self._progress = asyncio.Event()

    async def forward(self, take: TakeEvents) -> bool:
        """As gateway.streaming.relay.Stream, over all rounds."""
        while True:
            if self._ready:
                events, self._ready = self._ready, []
                if not take(events, None):
                    return True
            elif self._is_over:
                return False
            elif self._work is not None:
                await self._wait_for_tools(self._work)
            elif not self._round.is_over and await self._forward_round(take):
                return True
            else:
                await self._end_round()

    async def _wait_for_tools(self, work: asyncio.Task[None]) -> None:
        await self._progress.wait()
        self._progress.clear()
        if work.done():
            self._work = None
            work.result()

    async def _forward_round(self, take: TakeEvents) -> bool:
        """Pass on what comes of the running round. Returns whether `take` stopped it."""
        stopped = False

        def pass_on(events: list[StreamEvent], failure: UpstreamError | None) -> bool:
            nonlocal stopped
            stopped = not take(self._round.feed(events), failure)
            return not stopped and not self._round.is_over

        assert self._stream is not None
        if not await self._stream.forward(pass_on):
            self._round.is_over = True
        return stopped

    async def _end_round(self) -> None:
        """Let the tools of a round begin that is over, or let it be the last."""
        done, self._text = self._round, self._round.text
        self._usage = add_usage(self._usage, done.usage)
        wanted = [*filter(self._loop.is_ours, done.requests.values())]
        if not wanted or self._loop.is_exhausted:
            self._end(done.held(drops_calls=bool(wanted)))
            return
        assert self._stream is not None
        await self._stream.close(is_over=True)
        self._stream = None
        self._work = asyncio.ensure_future(self._run_tools(done, wanted))
        self._work.add_done_callback(lambda _: self._progress.set())

    def _end(self, last: list[StreamEvent]) -> None:
        self._is_over = True
        if cited := self._loop.annotations(self._text):
            self._ready.append(Delta(0, {"annotations": cited}))
        self._ready += [*last, UsageReported(self._usage), StreamEnd()]

    async def _run_tools(self, done: Round, wanted: Sequence[ToolRequest]) -> None:
        images = await self._loop.run(done.said, wanted, done.usage, self._tell)
        if images:
            self._ready.append(Delta(0, {"images": images}))
        exchange = await self._loop.next_exchange(done.usage)
        if exchange is None:
            self._end([Finish(0, "length")])
            return
        self._round = Round(self._text)
        self._stream = await exchange.open_stream()

    def _tell(self, event: StreamEvent) -> None:
        self._ready.append(event)
        self._progress.set()

    async def close(self, *, is_over: bool) -> None:
        if self._work is not None:
            self._work.cancel()
            await asyncio.gather(self._work, return_exceptions=True)
            self._work = None
        if self._stream is not None:
            await self._stream.close(is_over=is_over)


class Round:
    """One round of a stream, as far as it has come. Its tool calls and its end are held back.

    before: what was said in the rounds before it.
    """

    def __init__(self, before: str) -> None:
        self.requests: dict[int, ToolRequest] = {}
        self.usage: Usage | None = None
        self.said = Said("", [])
        self.text = before
        self.is_over = False
        self._held: list[StreamEvent] = []
        self._finishes: list[StreamEvent] = []

    def feed(self, events: list[StreamEvent]) -> list[StreamEvent]:
        """Return what may be passed on."""
        passed: list[StreamEvent] = []
        for event in events:
            if isinstance(event, StreamEnd):
                self.is_over = True
            elif isinstance(event, Finish):
                self._finishes.append(event)
            elif isinstance(event, UsageReported):
                self.usage = event.usage or self.usage
                passed.append(UsageReported(None, event.extras, so_far=event.so_far))
            elif isinstance(event, Delta):
                passed += self._feed_delta(event)
            else:
                passed.append(event)
        return passed

    def held(self, *, drops_calls: bool) -> list[StreamEvent]:
        """Return what was held back, of a round after which nothing follows."""
        return [Finish(0, "stop")] if drops_calls else [*self._held, *self._finishes]

    def _feed_delta(self, event: Delta) -> list[StreamEvent]:
        if "tool_calls" in event.fields:
            self._note(event.fields["tool_calls"])
            others = {key: value for key, value in event.fields.items() if key != "tool_calls"}
            self._held.append(Delta(event.index, {"tool_calls": event.fields["tool_calls"]}))
            if not others:
                return []
            event = Delta(event.index, others, event.logprobs)
        content = event.fields.get("content")
        if isinstance(content, str) and content:
            gap = "" if self.said.content else separator(self.text, content)
            self.text += gap + content
            if gap:
                event = Delta(event.index, {**event.fields, "content": gap + content})
        self.said.add(event.fields if content is None else {**event.fields, "content": content})
        return [event]

    def _note(self, calls: object) -> None:
        for position, piece in enumerate(calls if isinstance(calls, list) else ()):
            index = piece.get("index") if isinstance(piece, Mapping) else None
            place = index if isinstance(index, int) else position
            self.requests.setdefault(place, ToolRequest()).add(piece)
