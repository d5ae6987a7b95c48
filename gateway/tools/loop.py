"""An exchange that runs tools for the model: each round is an exchange of its own.

The pipeline cannot tell it from any other. Usage is the sum of all rounds. A round that calls
tools of the gateway and tools of the caller keeps only those of the gateway: the model calls the
others again. The hold grows round by round (gateway.tools.round_hold); where it cannot, the next
round is the last. What rounds and tools have come to is noted on the call's meter as it happens: a
call may end at any of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
from msgspec.structs import replace

from gateway.core import reasoning
from gateway.core.chat import ChatCall
from gateway.core.events import Answer, ChatAnswer, ToolEvent
from gateway.core.grant import Grant
from gateway.core.json_types import JsonObject
from gateway.core.money import Usage
from gateway.streaming.meter import Meter
from gateway.streaming.relay import Exchange, Stream
from gateway.tools.hold_bounds import MAX_USES
from gateway.tools.loop_stream import LoopStream
from gateway.tools.round_hold import RoundHold
from gateway.tools.rounds import (
    PREFIX,
    Said,
    ToolRequest,
    add_usage,
    bound_added,
    next_round,
    read_requests,
    without_tools,
)
from gateway.tools.runner import Tell, ToolRunner
from gateway.tools.sources import Sources, join

MAX_ROUNDS = 8

Open = Callable[[ChatCall, Grant], Exchange]


class _Named(msgspec.Struct):
    name: str = ""


class _ToolName(msgspec.Struct):
    function: _Named | None = None


_read_names = msgspec.json.Decoder(list[_ToolName]).decode


class ToolLoop:
    """One attempt of a call with server tools. open_exchange: makes the exchange of a round. run_s:
    how long one tool may run."""

    def __init__(
        self,
        open_exchange: Open,
        call: ChatCall,
        grant: Grant,
        *,
        hold: RoundHold,
        meter: Meter,
        run_s: float,
    ) -> None:
        tools = {PREFIX + tool.function: tool for tool in call.payload.tools}
        self.call = call
        self.sources = Sources()
        self._ours = frozenset(tools)
        self._callers = _names_in(call) - self._ours
        most = min(call.payload.max_tool_runs or MAX_USES, MAX_USES)
        self._runner = ToolRunner(
            tools,
            meter.note_tool_run,
            run_s=run_s,
            max_runs=most,
            check=call.payload.result_step,
            note_withheld=meter.note_withheld,
        )
        self._open = open_exchange
        self._grant = grant
        self._hold = hold
        self._meter = meter
        self._rounds = 0
        self._added_tokens = 0
        self._is_last = False
        self._exchange: Exchange | None = None

    @property
    def was_sent(self) -> bool:
        return self._rounds > 1 or (self._exchange is not None and self._exchange.was_sent)

    @property
    def is_exhausted(self) -> bool:
        """True in the last round, in which no tool is run."""
        return self._is_last

    def is_ours(self, request: ToolRequest) -> bool:
        """True for a call of a tool of the gateway, or of one that only could be."""
        name = request.name
        return name in self._ours or (name.startswith(PREFIX) and name not in self._callers)

    def first_exchange(self) -> Exchange:
        """Return the exchange of the first round, which admission has covered."""
        return self._begin(self.call, self._grant)

    async def next_exchange(self, used: Usage | None) -> Exchange | None:
        """Return the exchange of the next round; None where the balance covers no more. used: by
        the round before it."""
        self._hold.used(used)
        covered = await self._hold.cover(
            added_tokens=self._added_tokens,
            fees_nusd=sum(use.uses * use.nusd_each for use in self._meter.tool_uses),
            has_tools=self._rounds + 1 < MAX_ROUNDS and not self._runner.is_used_up,
        )
        if covered is None:
            return None
        self._is_last = not covered.has_tools
        return self._begin(without_tools(self.call) if self._is_last else self.call, covered.grant)

    def _begin(self, call: ChatCall, grant: Grant) -> Exchange:
        self._rounds += 1
        self._exchange = exchange = self._open(call, grant)
        self._meter.begin_round(exchange)
        return exchange

    async def run(
        self, said: Said, wanted: Sequence[ToolRequest], usage: Usage | None, tell: Tell
    ) -> list[JsonObject]:
        """Run the tools of a round, and put what they return into the call. Returns the pictures
        that they made. usage: of the round."""
        self._meter.end_round(usage)
        outcomes = await self._runner.run_all(self._rounds, wanted, tell)
        images = [
            image
            for outcome in outcomes
            if outcome.result is not None
            for image in self.sources.add(outcome.result)
        ]
        texts = [outcome.text for outcome in outcomes]
        self.call = next_round(self.call, said, wanted, texts)
        self._added_tokens += bound_added(said, wanted, texts)
        if self._meter.loop is not None:
            self._meter.loop.added_texts[:] = texts
        return images

    def annotations(self, text: str) -> list[JsonObject]:
        """Return the citations of an answer, by their places in what the caller gets of it."""
        processing = self.call.payload.processing
        return self.sources.annotations(text if processing is None else processing.put_back(text))

    async def read(self) -> Answer:
        usage: Usage | None = Usage()
        events: list[ToolEvent] = []
        answers: list[ChatAnswer] = []
        exchange: Exchange | None = self.first_exchange()
        while exchange is not None:
            answer = await exchange.read()
            assert isinstance(answer, ChatAnswer)
            answers.append(answer)
            usage = add_usage(usage, answer.usage)
            message = answer.choices[0].message
            wanted = [*filter(self.is_ours, read_requests(message.get("tool_calls")))]
            if not wanted or self._is_last:
                break
            said = Said()
            said.add(message)
            await self.run(said, wanted, answer.usage, events.append)
            exchange = await self.next_exchange(answer.usage)
        last = self._hide_ours(answers[-1])
        if exchange is None:
            last = cut_short(last)
        return replace(self._whole(answers, last), usage=usage, tool_events=tuple(events))

    def _whole(self, answers: Sequence[ChatAnswer], last: ChatAnswer) -> ChatAnswer:
        """Return the last answer with what was said in the rounds before it, as a stream has it,
        and with its sources."""
        choice = last.choices[0]
        message = dict(choice.message)
        messages = [answer.choices[0].message for answer in answers[:-1]] + [message]
        if len(messages) > 1:
            for name in ("content", "reasoning"):
                if text := join(text for one in messages if isinstance(text := one.get(name), str)):
                    message[name] = text
            details = [d for one in messages for d in one.get(reasoning.FIELD) or ()]
            if details:
                message[reasoning.FIELD] = details
        content = message.get("content")
        if cited := self.annotations(content if isinstance(content, str) else ""):
            message["annotations"] = [*(message.get("annotations") or ()), *cited]
        if self.sources.images:
            message["images"] = [*(message.get("images") or ()), *self.sources.images]
        return replace(last, choices=(replace(choice, message=message), *last.choices[1:]))

    def _hide_ours(self, answer: ChatAnswer) -> ChatAnswer:
        """Return the answer without calls of the gateway's tools, which a last round may still
        name; the answer itself where it has none."""
        if not any(map(self.is_ours, read_requests(answer.choices[0].message.get("tool_calls")))):
            return answer
        choices = []
        for choice in answer.choices:
            message = dict(choice.message)
            calls = message.pop("tool_calls", None) or []
            pairs = zip(calls, read_requests(calls), strict=True)
            kept = [call for call, one in pairs if not self.is_ours(one)]
            if kept:
                message["tool_calls"] = kept
            reason = choice.finish_reason if kept else "stop"
            choices.append(replace(choice, message=message, finish_reason=reason))
        return replace(answer, choices=tuple(choices))

    async def open_stream(self) -> Stream:
        return LoopStream(self, await self.first_exchange().open_stream())


def cut_short(answer: ChatAnswer) -> ChatAnswer:
    """Return the answer of a round after which no other is covered."""
    choices = tuple(replace(choice, finish_reason="length") for choice in answer.choices)
    return replace(answer, choices=choices)


def _names_in(call: ChatCall) -> frozenset[str]:
    """Return the names of all tools in a request."""
    tools = _read_names(call.payload.fields.get("tools") or b"[]")
    return frozenset(tool.function.name for tool in tools if tool.function is not None)
