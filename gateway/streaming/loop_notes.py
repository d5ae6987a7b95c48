"""What the rounds of a tool loop have come to so far. A part of the meter."""

from __future__ import annotations

from typing import Protocol

from gateway.core.money import Usage, sum_usage
from gateway.core.receipt import ToolRun


class RoundExchange(Protocol):
    """The exchange of a round (gateway.streaming.relay)."""

    @property
    def was_sent(self) -> bool: ...


class LoopNotes:
    """Of one attempt. Moments are perf_counter_ns; 0 means not yet."""

    __slots__ = (
        "added_texts",
        "counted",
        "exchange",
        "is_complete",
        "last",
        "round",
        "runs",
        "tools_ns",
        "tools_since_ns",
    )

    def __init__(self) -> None:
        # The running round, 1 the first.
        self.round = 0
        # Of the rounds that have ended, those whose provider counted them.
        self.counted = Usage()
        self.is_complete = True
        # Of the last of them, and what has been added to the prompt since.
        self.last: Usage | None = None
        self.added_texts: list[str] = []
        self.runs: list[ToolRun] = []
        self.tools_ns = 0
        # Tools run, and no provider is asked.
        self.tools_since_ns = 0
        self.exchange: RoundExchange | None = None

    @property
    def has_ended_round(self) -> bool:
        """True when a round has ended well: the model has asked for tools."""
        return self.last is not None or not self.is_complete

    @property
    def is_asking(self) -> bool:
        """True while a provider has the request of a round."""
        sent = self.exchange is not None and self.exchange.was_sent
        return sent and not self.tools_since_ns

    def begin(self, exchange: RoundExchange) -> None:
        self.round += 1
        self.exchange = exchange

    def stop_tools(self, now_ns: int) -> None:
        if self.tools_since_ns:
            self.tools_ns += now_ns - self.tools_since_ns
            self.tools_since_ns = 0

    def end(self, usage: Usage | None, now_ns: int) -> None:
        """The provider's part of the round is over: tools run."""
        self.tools_since_ns = now_ns
        self.added_texts.clear()
        if usage is None:
            self.is_complete = False
        else:
            self.counted = sum_usage(self.counted, usage)
            self.last = usage
