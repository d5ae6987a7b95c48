"""An exchange that runs tools for the model: each round is an exchange of its own.

The pipeline cannot tell it from any other. Usage is the sum of all rounds. A round that calls
tools of the gateway and tools of the caller keeps only those of the gateway: the model calls the
others again. A tool that fails tells the model so, and does not end the call. The hold grows round
by round (gateway.tools.round_hold); where it cannot, the next round is the last.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from gateway.core.chat import ChatCall
from gateway.core.errors import UpstreamError
from gateway.core.events import (
    Answer,
    ChatAnswer,
    Delta,
    Finish,
    StreamEnd,
    StreamEvent,
    TakeEvents,
    ToolEvent,
    UsageReported,
)
from gateway.core.grant import Grant
from gateway.core.money import Usage
from gateway.streaming.relay import Exchange, Stream
from gateway.tools.base import ServerTool
from gateway.tools.hold_bounds import MAX_USES
from gateway.tools.round_hold import RoundHold
from gateway.tools.rounds import (
    PREFIX,
    ToolRequest,
    add_usage,
    next_round,
    read_requests,
    with_tools,
    without_tools,
)

MAX_ROUNDS = 8
MAX_AT_ONCE = 5
USE_TIMEOUT_S = 60.0

Open = Callable[[ChatCall, Grant], Exchange]


class ToolLoop:
    """One attempt of a call with server tools. open_exchange: makes the exchange of a round."""

    def __init__(
        self,
        open_exchange: Open,
        call: ChatCall,
        grant: Grant,
        *,
        tools: Mapping[str, tuple[ServerTool, bool]],
        hold: RoundHold,
    ) -> None:
        self.tools = tools
        self.call = with_tools(call, [tool for tool, _ in tools.values()])
        self.uses = 0
        self._open = open_exchange
        self._grant = grant
        self._hold = hold
        self._rounds = 0
        self._added_tokens = 0
        self._fees_nusd = 0
        self._is_last = False
        self._exchange: Exchange | None = None

    @property
    def was_sent(self) -> bool:
        return self._rounds > 1 or (self._exchange is not None and self._exchange.was_sent)

    @property
    def is_exhausted(self) -> bool:
        """True in the last round, in which no tool is run."""
        return self._is_last

    def first_exchange(self) -> Exchange:
        """Return the exchange of the first round, which admission has covered."""
        self._rounds = 1
        self._exchange = self._open(self.call, self._grant)
        return self._exchange

    async def next_exchange(self, used: Usage | None) -> Exchange | None:
        """Return the exchange of the next round; None where the balance covers no more. used: by
        the round before it."""
        self._rounds += 1
        self._hold.used(used)
        covered = await self._hold.cover(
            added_tokens=self._added_tokens,
            fees_nusd=self._fees_nusd,
            has_tools=self._rounds < MAX_ROUNDS and self.uses < MAX_USES,
        )
        if covered is None:
            return None
        self._is_last = not covered.has_tools
        call = without_tools(self.call) if self._is_last else self.call
        self._exchange = self._open(call, covered.grant)
        return self._exchange

    async def read(self) -> Answer:
        usage: Usage | None = Usage()
        events: list[ToolEvent] = []
        exchange = self.first_exchange()
        while True:
            answer = await exchange.read()
            assert isinstance(answer, ChatAnswer)
            usage = add_usage(usage, answer.usage)
            message = answer.choices[0].message
            wanted = [one for one in read_requests(message.get("tool_calls")) if one.is_ours]
            if not wanted or self._is_last:
                return replace(
                    hide_ours(answer) if wanted else answer,
                    usage=usage,
                    tool_events=tuple(events),
                )
            content = message.get("content")
            events += await self.run(content if isinstance(content, str) else "", wanted)
            following = await self.next_exchange(answer.usage)
            if following is None:
                return replace(cut_short(answer), usage=usage, tool_events=tuple(events))
            exchange = following

    async def run(self, content: str, wanted: Sequence[ToolRequest]) -> list[ToolEvent]:
        """Run the tools of a round and put what they return into the call."""
        results: list[object] = []
        events: list[ToolEvent] = []
        for start in range(0, len(wanted), MAX_AT_ONCE):
            some = wanted[start : start + MAX_AT_ONCE]
            for event, result in await asyncio.gather(*map(self._use, some)):
                events.append(event)
                results.append(result)
        self.call, added_tokens = next_round(self.call, content, wanted, results)
        self._added_tokens += added_tokens
        self._fees_nusd += sum(event.nusd for event in events)
        return events

    async def _use(self, request: ToolRequest) -> tuple[ToolEvent, object]:
        """Run one tool. Returns its event and what the model gets to read."""
        self.uses += 1
        seq, began = self.uses, time.monotonic()
        found = self.tools.get(request.name.removeprefix(PREFIX))
        failed, result = True, object()
        if found is None:
            result = {"error": "There is no such tool."}
        elif seq > MAX_USES:
            result = {"error": f"No more than {MAX_USES} tool calls are run."}
        else:
            try:
                arguments = msgspec.json.decode(request.arguments or "{}", type=dict[str, object])
                result = await asyncio.wait_for(found[0].run(arguments), USE_TIMEOUT_S)
                failed = False
            except TimeoutError:
                result = {"error": f"The tool took longer than {USE_TIMEOUT_S:g} s."}
            except Exception as error:
                result = {"error": str(error)[:500] or "The tool failed."}
        event = ToolEvent(
            tool=request.name.removeprefix(PREFIX)[:64],
            call_id=request.id,
            seq=seq,
            failed=failed,
            duration_ms=int((time.monotonic() - began) * 1000),
            nusd=0 if failed or found is None else found[0].nusd_each,
            is_shown=found is not None and found[1],
        )
        return event, result

    async def open_stream(self) -> Stream:
        return LoopStream(self, await self.first_exchange().open_stream())


class LoopStream:
    """The rounds of a tool loop as one stream: text is passed on as it comes."""

    def __init__(self, loop: ToolLoop, stream: Stream) -> None:
        self.omits_finish_reason = stream.omits_finish_reason
        self._loop = loop
        self._stream: Stream | None = stream
        self._usage: Usage | None = Usage()
        self._round = Round()

    async def forward(self, take: TakeEvents) -> bool:
        """As gateway.streaming.relay.Stream, over all rounds."""
        while True:
            if not self._round.is_over and await self._forward_round(take):
                return True
            self._usage = add_usage(self._usage, self._round.usage)
            wanted = [one for one in self._round.requests.values() if one.is_ours]
            if not wanted or self._loop.is_exhausted:
                held = self._round.held(drops_calls=bool(wanted))
                take([*held, UsageReported(self._usage), StreamEnd()], None)
                return False
            assert self._stream is not None
            await self._stream.close(is_over=True)
            self._stream = None
            events: list[StreamEvent] = [*await self._loop.run(self._round.content, wanted)]
            exchange = await self._loop.next_exchange(self._round.usage)
            if exchange is None:
                take([*events, Finish(0, "length"), UsageReported(self._usage), StreamEnd()], None)
                return False
            self._round = Round()
            self._stream = await exchange.open_stream()
            if not take(events, None):
                return True

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

    async def close(self, *, is_over: bool) -> None:
        if self._stream is not None:
            await self._stream.close(is_over=is_over)


class Round:
    """One round of a stream, as far as it has come. Its tool calls and its end are held back."""

    def __init__(self) -> None:
        self.requests: dict[int, ToolRequest] = {}
        self.usage: Usage | None = None
        self.content = ""
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
                passed.append(UsageReported(None, event.extras))
            elif isinstance(event, Delta) and "tool_calls" in event.fields:
                self._note(event.fields["tool_calls"])
                self._held.append(event)
            else:
                if isinstance(event, Delta):
                    text = event.fields.get("content")
                    self.content += text if isinstance(text, str) else ""
                passed.append(event)
        return passed

    def held(self, *, drops_calls: bool) -> list[StreamEvent]:
        """Return what was held back, of a round after which nothing follows."""
        return [Finish(0, "stop")] if drops_calls else [*self._held, *self._finishes]

    def _note(self, calls: object) -> None:
        for position, piece in enumerate(calls if isinstance(calls, list) else ()):
            index = piece.get("index") if isinstance(piece, Mapping) else None
            place = index if isinstance(index, int) else position
            self.requests.setdefault(place, ToolRequest()).add(piece)


def cut_short(answer: ChatAnswer) -> ChatAnswer:
    """Return the answer of a round after which no other is covered."""
    hidden = hide_ours(answer)
    choices = tuple(replace(choice, finish_reason="length") for choice in hidden.choices)
    return replace(hidden, choices=choices)


def hide_ours(answer: ChatAnswer) -> ChatAnswer:
    """Return the answer without calls of the gateway's tools, which a last round may still name."""
    choices = []
    for choice in answer.choices:
        message = dict(choice.message)
        calls = message.pop("tool_calls", None) or []
        pairs = zip(calls, read_requests(calls), strict=True)
        kept = [call for call, one in pairs if not one.is_ours]
        if kept:
            message["tool_calls"] = kept
        reason = choice.finish_reason if kept else "stop"
        choices.append(replace(choice, message=message, finish_reason=reason))
    return replace(answer, choices=tuple(choices))
