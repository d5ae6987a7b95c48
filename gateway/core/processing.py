"""What the processors of one call did: for its answer, its timings and its record.

Types and counts only, never a text that was found.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Literal

from msgspec import UNSET, Struct, UnsetType, field

from gateway.core.events import Answer
from gateway.core.json_types import JsonObject
from gateway.core.receipt import ProcessorDetail, ProcessorUse

NS_PER_US = 1_000
US_PER_MS = 1_000
# Values of fewer characters may be a part of anything.
SHORT = 4
# A string of JSON, closed or cut off, and the colon behind a name.
_STRING = re.compile(r'"(?:[^"\\]|\\.)*+(?:"(?P<colon>\s*:)?|$)', re.DOTALL)
# Why a streaming caller's call was asked for a whole answer, as x-stream-mode says it: the caller
# gets it as a stream, or as JSON.
StreamMode = Literal["", "buffered-replay", "disabled"]


class ProcessorReport(Struct):
    """What one processor did to a call, which its step on the answer may add to."""

    # applied, passed, or a word of the processor's own.
    status: str
    # Counts, and lists of types or rules.
    details: dict[str, ProcessorDetail] = field(default_factory=dict)
    # Measured by who runs it.
    duration_ns: int = 0


class ProcessorSummary(Struct, kw_only=True):
    """The `inferada` object of an answer."""

    processors: dict[str, JsonObject]
    language: str | UnsetType = UNSET
    streaming_disabled: bool | UnsetType = UNSET


class Processing:
    """Of one call. It is changed until the call has ended."""

    __slots__ = (
        "_answer_ns",
        "before_ns",
        "language",
        "lost_answer",
        "reports",
        "stream_mode",
        "taken_out",
    )

    def __init__(self, language: str | None = None) -> None:
        self.language = language
        # By the names of the processors, in the order in which they ran.
        self.reports: dict[str, ProcessorReport] = {}
        # What processors took out of the request and of results of tools, each with what stands
        # there instead.
        self.taken_out: dict[str, str] = {}
        self.stream_mode: StreamMode = ""
        # Of all durations, what was spent before the call was admitted.
        self.before_ns = 0
        # The whole answer of a provider, where a processor failed on it.
        self.lost_answer: Answer | None = None
        self._answer_ns = 0

    def add_answer_time(self, name: str, duration_ns: int) -> None:
        """Add what a processor has spent on the answer, or on results of tools."""
        self.reports[name].duration_ns += duration_ns
        self._answer_ns += duration_ns

    def take_answer_ns(self) -> int:
        """Return what was spent on the answer and on results since this was last asked."""
        spent_ns, self._answer_ns = self._answer_ns, 0
        return spent_ns

    def put_back(self, text: str) -> str:
        """Return a text of the model's with what processors took out."""
        for taken, instead in self.taken_out.items():
            text = text.replace(instead, taken)
        return text

    def conceal(self, text: str) -> str:
        """Return JSON of the answer, which may be cut off, without what processors took out: this
        is what may be stored."""
        cut_at = len(text)
        for taken in sorted(self.taken_out, key=len, reverse=True):
            if len(taken) < SHORT:
                text = conceal_short(text, taken, self.taken_out[taken])
                continue
            for found, instead in spellings(taken, self.taken_out[taken]):
                text = text.replace(found, instead)
                cut_at = min(cut_at, len(text) - common_end(text, found))
        return text[:cut_at]

    def uses(self) -> tuple[ProcessorUse, ...]:
        """Return what the record of the call says."""
        return tuple(
            ProcessorUse(name, one.status, one.duration_ns // NS_PER_US, one.details)
            for name, one in self.reports.items()
        )

    def summary(self) -> ProcessorSummary:
        """Return what the answer says."""
        return ProcessorSummary(
            processors={
                name: {
                    "status": one.status,
                    **one.details,
                    "duration_ms": round(one.duration_ns / (NS_PER_US * US_PER_MS)),
                }
                for name, one in self.reports.items()
            },
            language=self.language or UNSET,
            streaming_disabled=True if self.stream_mode else UNSET,
        )


def conceal_short(text: str, taken: str, instead: str) -> str:
    """Return JSON with a placeholder for a value so short that it may be a part of anything: where
    it is a word of a string that is no name of a member."""
    written = escape(taken, is_ascii=False)

    def write(found: re.Match[str]) -> str:
        return found[0] if found["colon"] else replace_word(found[0], written, instead)

    return _STRING.sub(write, text)


def replace_word(text: str, word: str, instead: str) -> str:
    """Return a text with something else for a word, where no word goes on before or behind it."""
    pieces = text.split(word)
    done = pieces[0]
    for before, piece in pairwise(pieces):
        sides = before[-1:], piece[:1]
        is_whole = not any(side.isalnum() or side == "_" for side in sides)
        done += (instead if is_whole else word) + piece
    return done


def common_end(text: str, begun: str) -> int:
    """Return how much of one text the other ends with, where that is more than a character: what
    is left of it when it was cut off."""
    lengths = range(min(len(begun) - 1, len(text)), 1, -1)
    return next((length for length in lengths if text.endswith(begun[:length])), 0)


def spellings(text: str, other: str) -> Iterator[tuple[str, str]]:
    """Yield how JSON, and JSON in a string of JSON, can spell two texts: as they are and in ASCII
    alone. Each pair once."""
    seen = {""}
    for is_ascii in (False, True):
        pair = text, other
        for _ in range(3):
            if pair[0] not in seen:
                seen.add(pair[0])
                yield pair
            pair = escape(pair[0], is_ascii=is_ascii), escape(pair[1], is_ascii=is_ascii)


def escape(text: str, *, is_ascii: bool) -> str:
    """Return a text as it stands in a string of JSON."""
    return json.dumps(text, ensure_ascii=is_ascii)[1:-1]
