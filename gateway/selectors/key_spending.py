"""What a key has spent today, this month and ever, from the rollups."""

from __future__ import annotations

import time
import uuid

from django.db.models import Q, Sum
from django.db.models.functions import Coalesce

from gateway.core.spent import Spent, start_of_day, start_of_month
from gateway.core.time_spans import FAR_AHEAD, LONG_AGO
from gateway.models import KeyUsage, UsageRollup
from gateway.selectors.stretches import KEY_SPANS_S, find_stretches, rows_of


def spent_by(key_id: uuid.UUID, at: float) -> Spent:
    """Return what the key has spent on the day and in the month of a moment (seconds since the
    epoch), and ever. Days and months are in UTC, so no total is of two of them."""
    day, month = start_of_day(at), start_of_month(at)
    spent = Spent(0, 0, 0)
    for stretch in find_stretches(LONG_AGO, FAR_AHEAD, KEY_SPANS_S):
        sums = (
            rows_of(stretch, UsageRollup, KeyUsage)
            .filter(key_id=key_id)
            .aggregate(
                day=Coalesce(Sum("charge_nusd", filter=Q(starts_at__gte=day)), 0),
                month=Coalesce(Sum("charge_nusd", filter=Q(starts_at__gte=month)), 0),
                total=Coalesce(Sum("charge_nusd"), 0),
            )
        )
        spent = Spent(
            spent.day_nusd + sums["day"],
            spent.month_nusd + sums["month"],
            spent.total_nusd + sums["total"],
        )
    return spent


def total_of(key_id: uuid.UUID) -> int:
    """Return what the key has spent ever, in nano-USD."""
    return spent_by(key_id, time.time()).total_nusd
