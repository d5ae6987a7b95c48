"""Refusals of known keys: the first of each minute are recorded one by one, the rest are counted.

A program that is refused may try again as fast as it can. A row for each try would fill the disk
and say nothing new.
"""

from __future__ import annotations

import asyncio
import time
from typing import Protocol

import msgspec

from gateway.journal.record import Refused

LISTED_A_MINUTE = 10  # of one key, endpoint and reason
FLUSH_S = 1.0
MINUTE_S = 60


class Sink(Protocol):
    """Where records go (gateway.stores.record_log)."""

    def refused(self, record: Refused) -> None: ...


class _Minute:
    """What was refused of one key at one endpoint for one reason in one minute.

    first: the first that was counted, whose row stands for all of them. counted: how many were
    since the last flush.
    """

    __slots__ = ("counted", "first", "listed", "number")

    def __init__(self, number: int) -> None:
        self.number = number
        self.listed = 0
        self.counted = 0
        self.first: Refused | None = None


class RefusalLog:
    """For one event loop. What was counted is recorded once a second: a process that is killed
    loses that much of a count, and no row."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._minutes: dict[tuple[str, str, str], _Minute] = {}
        self._timer: asyncio.TimerHandle | None = None

    def refused(self, record: Refused) -> None:
        """Record a refusal, or count it. Never raises."""
        number = int(record.at // MINUTE_S)
        place = record.key_id, record.identity.endpoint, record.error_code
        minute = self._minutes.get(place)
        if minute is None or minute.number != number:
            if minute is not None:
                self._record(minute)
            minute = self._minutes[place] = _Minute(number)
            if self._timer is None:
                self._timer = asyncio.get_running_loop().call_later(FLUSH_S, self._flush_again)
        if minute.listed < LISTED_A_MINUTE:
            minute.listed += 1
            self._sink.refused(record)
            return
        minute.counted += 1
        if minute.first is None:
            minute.first = record

    def flush(self) -> None:
        """Record what was counted."""
        for minute in self._minutes.values():
            self._record(minute)

    def _record(self, minute: _Minute) -> None:
        if minute.first is not None and minute.counted:
            self._sink.refused(msgspec.structs.replace(minute.first, counted=minute.counted))
            minute.counted = 0

    def _flush_again(self) -> None:
        """Flush, and forget the minutes that are over."""
        self.flush()
        now = int(time.time() // MINUTE_S)
        self._minutes = {
            place: minute for place, minute in self._minutes.items() if minute.number >= now
        }
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(FLUSH_S, self._flush_again) if self._minutes else None
