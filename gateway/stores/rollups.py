"""The sums of a batch of ended calls: charges per key, and the rollups that pages read."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Callable, Sequence
from operator import attrgetter

from django.db import connection

from accounts.ledger import Spend
from accounts.untyped import SqlValue
from gateway.core.time_spans import QUARTER_S
from gateway.journal.record import Refused, Settled
from gateway.stores.error_totals import FAILED, ErrorTotals
from gateway.stores.late_totals import add_usage
from gateway.stores.latency_totals import LatencyTotals
from gateway.stores.provider_outcomes import ProviderOutcomes
from gateway.stores.rows import MICROS_PER_S, micros, moment, raw_id, sqlite_moment
from gateway.stores.total_marks import find_mark_s

QUARTER_US = QUARTER_S * MICROS_PER_S
_began_at = attrgetter("identity.at")

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


class Rollups:
    """Sums over ended calls. Every call that becomes a terminal row is counted exactly once."""

    def __init__(self) -> None:
        self._spent: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0])
        self._usage: dict[tuple[int, str, str, str, str], list[int]] = {}
        self._latency = LatencyTotals()
        self._outcomes = ProviderOutcomes()
        self._errors = ErrorTotals()

    def count(self, quarter: int, calls: Sequence[Settled]) -> None:
        """Add admitted calls that have ended: of one key and model, with one status.

        quarter: of an hour, since the epoch, in which all of them began; see `quarters_of`.
        """
        like = calls[0]
        model, status = like.served.model[:200], like.receipt.status
        receipts = [call.receipt for call in calls]
        usages = [receipt.usage for receipt in receipts]
        charges_nusd = [
            paid for call in calls if (paid := call.receipt.charge_nusd - call.owed_nusd)
        ]
        sums = self._sums(quarter, like, model, status)
        sums[0] += len(calls)
        sums[1] += sum([usage.prompt_tokens for usage in usages])
        sums[2] += sum([usage.completion_tokens for usage in usages])
        sums[3] += sum(charges_nusd)
        sums[4] += sum([receipt.absorbed_nusd for receipt in receipts])
        if charges_nusd:
            spent = self._spent[like.workspace_id, like.key_id]
            spent[0] += sum(charges_nusd)
            spent[1] += len(charges_nusd)
        self._outcomes.count(calls)
        if status == "ok":
            self._latency.count((quarter, like.workspace_id, model), calls)
        elif status in FAILED:
            self._errors.count(quarter, calls)

    def count_refused(self, record: Refused) -> None:
        """Add calls that were not let in; they count by status alone."""
        quarter = quarter_of(record.at)
        self._sums(quarter, record, "", "refused")[0] += record.counted or 1
        self._errors.count_refused(quarter, record)

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
        usage: list[tuple[SqlValue, ...]] = [
            (start(quarter * QUARTER_S), raw(workspace_id), raw(key_id), model, status, *sums)
            for (quarter, workspace_id, key_id, model, status), sums in sorted(self._usage.items())
        ]
        with connection.cursor() as cursor:
            cursor.executemany(ADD_USAGE, usage)
        self._latency.write(raw, start)
        self._write_late(raw, start)
        self._outcomes.write()
        self._errors.write()

    def _write_late(
        self, raw: Callable[[str], SqlValue], start: Callable[[float], SqlValue]
    ) -> None:
        """Add calls of before the mark of longer spans to those: few batches have any."""
        mark_s = find_mark_s("gateway_rollupmark", "until")
        mark = mark_s // QUARTER_S
        if all(place[0] >= mark for place in self._usage):
            return
        add_usage(self._usage.items(), mark_s, raw, start)
        self._latency.write_late(mark_s, raw, start)

    def _sums(self, quarter: int, of: Settled | Refused, model: str, status: str) -> list[int]:
        place = (quarter, of.workspace_id, of.key_id, model, status)
        return self._usage.setdefault(place, [0, 0, 0, 0, 0])


def quarter_of(at: float) -> int:
    """Return the quarter of an hour, counted from the epoch, of a call's moment."""
    return micros(at) // QUARTER_US


def quarters_of(records: Sequence[Settled]) -> Sequence[int]:
    """Return the quarter of an hour, counted from the epoch, in which each call began."""
    moments = list(map(_began_at, records))
    if not moments:
        return ()
    first, last = quarter_of(min(moments)), quarter_of(max(moments))
    return [first] * len(moments) if first == last else list(map(quarter_of, moments))
