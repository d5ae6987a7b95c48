"""What a batch of ended calls adds up to: charges per key, and the rollups that pages read."""

from __future__ import annotations

import uuid
from collections import defaultdict
from typing import Any

from django.db import connection

from accounts.book import Spend
from gateway.core.buckets import bucket_of
from gateway.journal.record import Refused, Settled
from gateway.stores.rows import MICROS_PER_S, micros, moment, raw_id, sqlite_moment

QUARTER_S = 900
QUARTER_US = QUARTER_S * MICROS_PER_S

ADD_USAGE = """
INSERT INTO gateway_usagerollup
    (starts_at, workspace_id, key_id, model, status,
     calls, prompt_tokens, completion_tokens, charge_nusd, absorbed_nusd)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
ON CONFLICT (workspace_id, starts_at, key_id, model, status) DO UPDATE SET
    calls = gateway_usagerollup.calls + excluded.calls,
    prompt_tokens = gateway_usagerollup.prompt_tokens + excluded.prompt_tokens,
    completion_tokens = gateway_usagerollup.completion_tokens + excluded.completion_tokens,
    charge_nusd = gateway_usagerollup.charge_nusd + excluded.charge_nusd,
    absorbed_nusd = gateway_usagerollup.absorbed_nusd + excluded.absorbed_nusd
"""
ADD_LATENCY = """
INSERT INTO gateway_latencyrollup (starts_at, workspace_id, model, measure, bucket, calls)
VALUES (%s, %s, %s, %s, %s, %s)
ON CONFLICT (workspace_id, starts_at, model, measure, bucket) DO UPDATE SET
    calls = gateway_latencyrollup.calls + excluded.calls
"""


class Tally:
    """Sums over ended calls. Every call that becomes a terminal row is counted exactly once."""

    def __init__(self) -> None:
        self._spent: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0])
        self._usage: dict[tuple[int, str, str, str, str], list[int]] = {}
        self._latency: dict[tuple[int, str, str, str, int], int] = defaultdict(int)

    def count(self, record: Settled) -> None:
        """Add an admitted call that has ended."""
        quarter = micros(record.at) // QUARTER_US
        place = (quarter, record.workspace_id, record.key_id, record.model[:200], record.status)
        sums = self._usage.get(place)
        if sums is None:
            sums = self._usage[place] = [0, 0, 0, 0, 0]
        sums[0] += 1
        sums[1] += record.prompt_tokens
        sums[2] += record.completion_tokens
        sums[3] += record.charge_nusd
        sums[4] += record.absorbed_nusd
        if record.charge_nusd:
            spent = self._spent[record.workspace_id, record.key_id]
            spent[0] += record.charge_nusd
            spent[1] += 1
        if record.status == "ok":
            self._count_durations(quarter, record)

    def count_refused(self, record: Refused) -> None:
        """Add a call that was not let in; it counts by status alone."""
        place = (micros(record.at) // QUARTER_US, record.workspace_id, record.key_id, "", "refused")
        sums = self._usage.setdefault(place, [0, 0, 0, 0, 0])
        sums[0] += 1

    def spends(self) -> list[Spend]:
        """Return what each key has spent."""
        return [
            Spend(uuid.UUID(workspace_id), uuid.UUID(key_id), charge_nusd, calls)
            for (workspace_id, key_id), (charge_nusd, calls) in self._spent.items()
        ]

    def write_rollups(self) -> None:
        """Add the sums to the rollups, inside the caller's transaction."""
        raw = raw_id if connection.vendor == "sqlite" else str
        start = sqlite_moment if connection.vendor == "sqlite" else moment
        # In order, so that two processes on PostgreSQL never wait for each other in a ring.
        usage: list[tuple[Any, ...]] = [
            (start(quarter * QUARTER_S), raw(workspace_id), raw(key_id), model, status, *sums)
            for (quarter, workspace_id, key_id, model, status), sums in sorted(self._usage.items())
        ]
        latency: list[tuple[Any, ...]] = [
            (start(quarter * QUARTER_S), raw(workspace_id), model, measure, bucket, calls)
            for (quarter, workspace_id, model, measure, bucket), calls in sorted(
                self._latency.items()
            )
        ]
        with connection.cursor() as cursor:
            cursor.executemany(ADD_USAGE, usage)
            cursor.executemany(ADD_LATENCY, latency)

    def _count_durations(self, quarter: int, record: Settled) -> None:
        place = (quarter, record.workspace_id, record.model[:200])
        latency = self._latency
        latency[*place, "total", bucket_of(record.total_us)] += 1
        latency[*place, "added", bucket_of(record.total_us - record.upstream_us)] += 1
        if record.streamed and record.ttft_us is not None:
            latency[*place, "ttft", bucket_of(record.ttft_us)] += 1
