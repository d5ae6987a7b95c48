"""How long completed calls took, written with the calls, in the same transaction.

Counted in the buckets of gateway.core.latency_histogram: what was measured of a call, by quarter of
an hour, workspace and model.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence

from django.db import connection

from accounts.untyped import SqlValue
from gateway.core.durations import added_us
from gateway.core.latency_histogram import buckets_of
from gateway.core.time_spans import QUARTER_S
from gateway.journal.record import Settled
from gateway.stores.inserts import Insert, Row
from gateway.stores.late_totals import add_latency

ADD_LATENCY = Insert(
    "gateway_latencyrollup",
    ("starts_at", "workspace_id", "model", "measure"),
    ("bucket", "calls"),
    on_conflict="ON CONFLICT (workspace_id, starts_at, model, measure, bucket) DO UPDATE SET "
    "calls = gateway_latencyrollup.calls + excluded.calls",
)


class LatencyTotals:
    """Calls by how long they took: in all, until the first token, and in the gateway alone."""

    def __init__(self) -> None:
        # (quarter, workspace, model, measure): calls by bucket
        self._counts: dict[tuple[int, str, str, str], Counter[int]] = defaultdict(Counter)

    def count(self, place: tuple[int, str, str], calls: Sequence[Settled]) -> None:
        """Add calls that have ended. place: their quarter of an hour, workspace and model."""
        receipts = [call.receipt for call in calls]
        total = [receipt.total_us for receipt in receipts]
        self._counts[*place, "total"].update(buckets_of(total))
        self._counts[*place, "added"].update(buckets_of(map(added_us, receipts)))
        streamed = [call.receipt for call in calls if call.identity.streamed]
        ttft = [receipt.ttft_us for receipt in streamed if receipt.ttft_us is not None]
        if ttft:
            self._counts[*place, "ttft"].update(buckets_of(ttft))

    def write(
        self, as_id: Callable[[str], SqlValue], as_moment: Callable[[float], SqlValue]
    ) -> None:
        """Add the counts to the rollup, inside the caller's transaction."""
        # In order, so that two processes on PostgreSQL never wait for each other in a ring.
        rows: dict[Row, list[Row]] = {
            (as_moment(quarter * QUARTER_S), as_id(workspace_id), model, measure): sorted(
                counts.items()
            )
            for (quarter, workspace_id, model, measure), counts in sorted(self._counts.items())
        }
        with connection.cursor() as cursor:
            ADD_LATENCY.run(cursor, rows)

    def write_late(
        self,
        mark_s: int,
        as_id: Callable[[str], SqlValue],
        as_moment: Callable[[float], SqlValue],
    ) -> None:
        """Add what lies before the mark of longer spans to those."""
        add_latency(self._counts.items(), mark_s, as_id, as_moment)
