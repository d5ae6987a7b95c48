"""What a process knows of one credential: whether it rests, what it may carry, its token."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

from gateway.core.errors import ProviderAuth, ProviderRateLimit, UpstreamError
from gateway.providers.credentials.refreshed_token import NoToken, RefreshedToken
from gateway.snapshot.credential import CredentialRecord

# For so long one that the provider refuses rests, while others serve.
REFUSED_S = 300.0
# Of which there is no token.
NO_TOKEN_S = 5.0
# One that the provider is asked too often with rests as long as it says, at least so long, twice as
# long each time it is so again.
LEAST_REST_S, MOST_REST_S = 1.0, 60.0
MINUTE_S = 60.0

# Told of a credential that begins to rest, until when (in seconds from now) and the error's code;
# 0 and nothing where it ceases to fail.
NoteRest = Callable[[str, float, str, str], None]


class CredentialState:
    """token: None where the credential is sent as it is."""

    __slots__ = (
        "_asked",
        "_note",
        "_rest_s",
        "failure",
        "record",
        "rests_until",
        "running",
        "token",
        "turn",
    )

    def __init__(
        self, record: CredentialRecord, token: RefreshedToken | None, note: NoteRest
    ) -> None:
        self.record = record
        self.token = token
        # Of the choice among several (gateway.providers.credentials.pools).
        self.turn = 0
        self.running = 0
        self.rests_until = 0.0
        # The code of the error that it rests for, or failed with last.
        self.failure = ""
        self._rest_s = LEAST_REST_S
        # When calls of the last minute were begun, of one with such a limit.
        self._asked: deque[float] = deque()
        self._note = note

    def is_ready(self, now: float) -> bool:
        """True when a call can go out with it."""
        return now >= self.rests_until and self.has_room(now)

    def has_room(self, now: float) -> bool:
        """True when its own limits let a call through."""
        record = self.record
        if record.at_once is not None and self.running >= record.at_once:
            return False
        return record.per_minute is None or self._count(now) < record.per_minute

    def ready_in(self, now: float) -> float:
        """Return after how many seconds it can be asked for again."""
        wait_s = max(self.rests_until - now, 0.0)
        per_minute = self.record.per_minute
        if per_minute is not None and self._count(now) >= per_minute:
            wait_s = max(wait_s, self._asked[0] + MINUTE_S - now)
        return max(wait_s, LEAST_REST_S)

    def begin(self) -> None:
        self.running += 1
        if self.record.per_minute is not None:
            self._asked.append(time.monotonic())

    def end(self) -> None:
        self.running -= 1

    def answered(self) -> None:
        """It served."""
        if self.failure:
            self.failure, self.rests_until, self._rest_s = "", 0.0, LEAST_REST_S
            self._note(self.record.credential_id, 0.0, "", "")

    def failed(self, error: UpstreamError) -> None:
        """Let it rest, where the error is about the credential."""
        if isinstance(error, NoToken):
            rest_s = NO_TOKEN_S
        elif isinstance(error, ProviderAuth):
            rest_s = REFUSED_S
        elif isinstance(error, ProviderRateLimit):
            rest_s = max(error.retry_after_s or 0.0, self._rest_s)
            self._rest_s = min(2 * self._rest_s, MOST_REST_S)
        else:
            return
        now = time.monotonic()
        was_resting = now < self.rests_until
        self.rests_until = max(self.rests_until, now + rest_s)
        if not was_resting or self.failure != error.code:
            self.failure = error.code
            said = error.message if isinstance(error, ProviderAuth) else ""
            self._note(self.record.credential_id, rest_s, error.code, said)

    def _count(self, now: float) -> int:
        """Return how many calls were begun in the last minute."""
        asked = self._asked
        while asked and asked[0] <= now - MINUTE_S:
            asked.popleft()
        return len(asked)
