"""What a key has spent today, this month and ever, from the rollups."""

from __future__ import annotations

import time
import uuid

from django.db.models import Q, Sum
from django.db.models.functions import Coalesce

from gateway.core.spent import Spent, start_of_day, start_of_month
from gateway.models import UsageRollup


def spent_by(key_id: uuid.UUID, at: float) -> Spent:
    """Return what the key has spent on the day and in the month of a moment (seconds since the
    epoch), and ever. One query, over all the quarters of an hour in which it was used."""
    sums = UsageRollup.objects.filter(key_id=key_id).aggregate(
        day=Coalesce(Sum("charge_nusd", filter=Q(starts_at__gte=start_of_day(at))), 0),
        month=Coalesce(Sum("charge_nusd", filter=Q(starts_at__gte=start_of_month(at))), 0),
        total=Coalesce(Sum("charge_nusd"), 0),
    )
    return Spent(sums["day"], sums["month"], sums["total"])


def total_of(key_id: uuid.UUID) -> int:
    """Return what the key has spent ever, in nano-USD."""
    return spent_by(key_id, time.time()).total_nusd
