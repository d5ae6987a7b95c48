"""The fake upstream's own count of tokens: an outside witness that tests compare bills with.

One entry per try, keyed by the x-request-id the gateway sent. `completion_tokens` is what was
generated so far, whether or not anybody read it: what a provider would charge for.
"""

from __future__ import annotations

import time
from collections import deque
from typing import Any

import msgspec

from tests.fakes.script import Script

RUNNING = "running"
DONE = "done"
CANCELLED = "cancelled"  # the other side closed the connection before the answer was complete
FAILED = "failed"  # the script asked for an error status
BROKEN = "broken"  # the script asked for a reset, a truncation or an early close


class Entry:
    """One try at one call. Durations are milliseconds from the moment the request was read, which
    is started_s by a clock that is never set."""

    __slots__ = (
        "attempt",
        "body",
        "cache_write_1h_tokens",
        "cache_write_tokens",
        "cached_tokens",
        "characters",
        "citation_tokens",
        "closed_after_ms",
        "closed_at_s",
        "completion_tokens",
        "ended_after_ms",
        "images",
        "model",
        "prompt_tokens",
        "reasoning_tokens",
        "reported_usage",
        "request_id",
        "research_tokens",
        "searches",
        "sound_ms",
        "started_at_s",
        "started_s",
        "state",
        "stream",
    )

    def __init__(self, request_id: str, attempt: int) -> None:
        self.request_id = request_id
        self.attempt = attempt
        # What was asked, where the script says noted, or echo and the answer is no text.
        self.body = ""
        self.model = ""
        self.stream = False
        self.prompt_tokens = 0
        self.completion_tokens = 0
        self.reasoning_tokens = 0
        self.cached_tokens = 0
        self.cache_write_tokens = 0
        # A share of those.
        self.cache_write_1h_tokens = 0
        self.images = 0
        # Shares of the prompt and of the completion.
        self.citation_tokens = 0
        self.research_tokens = 0
        self.searches = 0
        self.characters = 0
        self.sound_ms = 0
        self.reported_usage: object = None
        self.state = RUNNING
        self.started_s = time.monotonic()
        self.started_at_s = time.time()
        self.ended_after_ms: float | None = None
        self.closed_after_ms: float | None = None
        self.closed_at_s: float | None = None

    def note(self, model: str, prompt_tokens: int, script: Script, *, stream: bool) -> None:
        """Keep what was asked, and how much of the prompt the script has in the cache."""
        self.model, self.stream, self.prompt_tokens = model, stream, prompt_tokens
        self.cached_tokens = min(script.cached, prompt_tokens)
        left = prompt_tokens - self.cached_tokens
        self.cache_write_tokens = min(script.cache_written, left)
        self.cache_write_1h_tokens = min(script.cache_written_1h, self.cache_write_tokens)

    def end(self, state: str) -> None:
        """Leave RUNNING, once; later ends change nothing."""
        if self.state == RUNNING:
            self.state = state
            self.ended_after_ms = (time.monotonic() - self.started_s) * 1000

    def report(self, usage: object) -> None:
        """Keep what the other side was told; as text where that is not JSON."""
        told = msgspec.json.encode(usage)
        try:
            self.reported_usage = msgspec.json.decode(told) if told else None
        except msgspec.DecodeError:
            self.reported_usage = told.decode()

    def hang_up(self) -> None:
        """Note that the other side closed the connection while the call was running."""
        if self.state == RUNNING:
            self.end(CANCELLED)
            self.closed_after_ms = self.ended_after_ms
            self.closed_at_s = time.time()

    def as_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


class TokenBook:
    """The latest `limit` entries, and counters that no limit touches."""

    def __init__(self, limit: int = 200_000) -> None:
        self._limit = limit
        self.clear()

    def clear(self) -> None:
        self._entries: deque[Entry] = deque(maxlen=self._limit)
        self._attempts: dict[str, int] = {}
        self.requests = 0

    def open(self, request_id: str) -> Entry:
        """Start an entry; a call without x-request-id is called anonymous-<n>."""
        self.requests += 1
        if not request_id:
            request_id = f"anonymous-{self.requests}"
        attempt = self._attempts.get(request_id, 0) + 1
        if len(self._attempts) >= self._limit:
            self._attempts.clear()
        self._attempts[request_id] = attempt
        entry = Entry(request_id, attempt)
        self._entries.append(entry)
        return entry

    def find(self, request_ids: set[str]) -> list[Entry]:
        """Return the entries of these ids, oldest first; of all when none is named."""
        if not request_ids:
            return list(self._entries)
        return [entry for entry in self._entries if entry.request_id in request_ids]
