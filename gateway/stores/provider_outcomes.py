"""Which providers answer, by the calls of a batch: what pages show beside a provider's name.

Ordinary calls cost one look at each group of alike calls, and one statement for each provider of a
batch, which changes a row once a minute, or when a provider begins or ceases to fail.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter

from django.db import connection

from accounts.untyped import SqlValue
from gateway.core.errors import (
    ProviderAuth,
    ProviderOverloaded,
    ProviderTimeout,
    ProviderUnavailable,
)
from gateway.journal.record import Settled
from gateway.stores.rows import moment, sqlite_moment

# A refusal for another reason than these is an answer.
FAILURES = frozenset(
    error.code for error in (ProviderAuth, ProviderOverloaded, ProviderTimeout, ProviderUnavailable)
)
EVERY_S = 60
ANSWERED = """
INSERT INTO gateway_providerhealth
    (provider_id, answered_at, failing_since, failure, test_outcome, test_message)
SELECT id, %s, NULL, '', '', '' FROM gateway_provider WHERE name = %s
ON CONFLICT (provider_id) DO UPDATE SET
    answered_at = excluded.answered_at, failing_since = NULL, failure = ''
WHERE gateway_providerhealth.answered_at IS NULL OR gateway_providerhealth.answered_at < %s
    OR gateway_providerhealth.failing_since < excluded.answered_at
"""
FAILED = """
INSERT INTO gateway_providerhealth
    (provider_id, answered_at, failing_since, failure, test_outcome, test_message)
SELECT id, NULL, %s, %s, '', '' FROM gateway_provider WHERE name = %s
ON CONFLICT (provider_id) DO UPDATE SET
    failing_since = excluded.failing_since, failure = excluded.failure
WHERE gateway_providerhealth.failure = ''
    AND (gateway_providerhealth.answered_at IS NULL
         OR gateway_providerhealth.answered_at < excluded.failing_since)
"""

_failed_us = attrgetter("receipt.failed_us")


class ProviderOutcomes:
    """What came of a batch's calls at each provider."""

    def __init__(self) -> None:
        self._answered_at: dict[str, float] = {}
        self._failed: dict[str, tuple[float, str]] = {}

    def count(self, calls: Sequence[Settled]) -> None:
        """Add calls that have ended: of one provider, with one status and error."""
        like = calls[0]
        provider, status = like.served.provider, like.receipt.status
        if status == "ok":
            self._answer(provider, calls[-1].at)
        elif status == "upstream_error":
            if like.error_code in FAILURES:
                self._fail(provider, like.at, like.error_code)
            else:
                self._answer(provider, calls[-1].at)
        if any(map(_failed_us, calls)):
            self._count_attempts(calls)

    def write(self) -> None:
        """Update what is known, inside the caller's transaction. A provider that answered one call
        of a batch and failed another answers."""
        time: Callable[[float], SqlValue] = (
            sqlite_moment if connection.vendor == "sqlite" else moment
        )
        # In order, so that two processes on PostgreSQL never wait for each other in a ring.
        with connection.cursor() as cursor:
            for name in sorted(self._answered_at.keys() | self._failed.keys()):
                at = self._answered_at.get(name)
                if at is not None:
                    cursor.execute(ANSWERED, (time(at), name, time(at - EVERY_S)))
                else:
                    failed_at, code = self._failed[name]
                    cursor.execute(FAILED, (time(failed_at), code, name))

    def _count_attempts(self, calls: Sequence[Settled]) -> None:
        """Add attempts that failed before another provider served the call."""
        for call in calls:
            if call.receipt.failed_us:
                for attempt in call.attempts:
                    if attempt.provider != call.served.provider and attempt.code in FAILURES:
                        self._fail(attempt.provider, call.at, attempt.code)

    def _answer(self, provider: str, at: float) -> None:
        if at > self._answered_at.get(provider, 0.0):
            self._answered_at[provider] = at

    def _fail(self, provider: str, at: float, code: str) -> None:
        if provider not in self._failed or at < self._failed[provider][0]:
            self._failed[provider] = (at, code)
