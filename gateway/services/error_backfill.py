"""Adds up the errors of calls from before there were totals of them: an hour at a time, the newest
first, each in one short transaction that moves `ErrorMark` before it.

So it may stop anywhere and go on there, while calls are made: the drain leaves calls that began
before the mark to this, which reads them from the call table. Without the mark there is nothing to
do.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from django.db import connection, transaction

from accounts.ids import stored_id
from accounts.pacing import repeat_for
from gateway.core.time_spans import HOUR, QUARTER_S
from gateway.models import CallRecord, ErrorMark
from gateway.selectors.id_times import first_id_at
from gateway.stores.error_totals import FAILED, add

WORK_S = 15.0  # of each minute, pauses included
# A call's id is minted a moment before its time is taken, and clocks are set.
ID_MARGIN = timedelta(minutes=15)
_EPOCH_S = {
    "sqlite": "CAST(strftime('%%s', c.created_at) AS INTEGER)",
    "postgresql": "CAST(floor(extract(epoch FROM c.created_at)) AS BIGINT)",
}
# Joined from the smaller side: CROSS JOIN tells SQLite, which has no statistics, to begin there.
# `NOT (c.status = 'ok')` is the condition of the index that finds them.
_ERRORS = """
SELECT {second} / {quarter_s}, c.workspace_id, c.key_id, c.provider, c.status, c.error_code,
       SUM(c.counted_calls), MIN(c.created_at), MAX(c.created_at)
FROM accounts_workspace w CROSS JOIN gateway_callrecord c
WHERE c.workspace_id = w.id AND NOT (c.status = 'ok') AND c.status IN ({failed})
      AND c.id >= %s AND c.id < %s AND c.created_at >= %s AND c.created_at < %s
GROUP BY 1, 2, 3, 4, 5, 6
"""


def backfill_errors(*, work_s: float = WORK_S) -> int:
    """Add up hours for so long at the most; return how many were added up."""
    return repeat_for(work_s, _add_an_hour)


@transaction.atomic
def _add_an_hour() -> bool:
    """Add up the hour before the mark; False when nothing is left to be done."""
    mark = ErrorMark.objects.select_for_update().first()
    if mark is None:
        return False
    oldest = CallRecord.objects.order_by("id").values_list("created_at", flat=True).first()
    if oldest is None or mark.since + ID_MARGIN <= oldest:
        mark.delete()
        return False
    start = mark.since - HOUR
    _add_errors(start, mark.since)
    mark.since = start
    mark.save()
    return True


def _add_errors(start: datetime, end: datetime) -> None:
    adapt = connection.ops.adapt_datetimefield_value
    ids = [first_id_at(moment) for moment in (start - ID_MARGIN, end + ID_MARGIN)]
    failed = ", ".join(f"'{status}'" for status in sorted(FAILED))
    second = _EPOCH_S[connection.vendor]
    question = _ERRORS.format(second=second, quarter_s=QUARTER_S, failed=failed)
    with connection.cursor() as cursor:
        cursor.execute(question, [*map(stored_id, ids), adapt(start), adapt(end)])
        rows = cursor.fetchall()
    add(
        [
            ((quarter, str(workspace_id), str(key_id), *group), (calls, _s(first), _s(last)))
            for quarter, workspace_id, key_id, *group, calls, first, last in rows
        ]
    )


def _s(moment: datetime | str) -> float:
    """Return seconds since the epoch; SQLite gives text."""
    found: datetime = datetime.fromisoformat(moment) if isinstance(moment, str) else moment
    return found.replace(tzinfo=UTC).timestamp() if found.tzinfo is None else found.timestamp()
