"""What has outlived its use: stored bodies and kept answers, lines of the change feed, old
checks of the ledger, batches that ended long ago.

Call records and ledger entries are never pruned: `prove` recomputes the one from the other.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db import OperationalError
from django.db.models import Max, Model, QuerySet
from django.utils import timezone

from accounts.models import ConfigChange
from gateway.database.partitions import BODIES, drop_partitions, dropped_until
from gateway.models import Batch, CallBody, KeptAnswer, LedgerCheck

BATCH = 500  # rows per statement: one writer at a time, and calls are waiting
FEED_DAYS = 7  # processes read the feed within a second; a week is for people
CHECK_DAYS = 30
ANSWERS_KEPT_FOR = timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class Pruned:
    """How many rows were deleted. bodies: without those of dropped partitions."""

    bodies: int
    changes: int
    checks: int
    answers: int
    batches: int


def prune(*, now: datetime | None = None) -> Pruned:
    """Delete what is older than its days, a batch at a time. Safe to stop and to repeat."""
    now = now or timezone.now()
    return Pruned(
        bodies=_prune_bodies(now - timedelta(days=settings.BODY_DAYS)),
        changes=_prune_changes(now - timedelta(days=FEED_DAYS)),
        checks=_prune_checks(now - timedelta(days=CHECK_DAYS)),
        answers=_prune_answers(now - ANSWERS_KEPT_FOR),
        batches=_prune_batches(now - timedelta(days=settings.BATCH_DAYS)),
    )


def _prune_bodies(before: datetime) -> int:
    """Drop whole days where there are partitions, and delete what these have left."""
    with suppress(OperationalError):  # the table is in use; an hour later it may not be
        drop_partitions(BODIES, before)
    return _delete(CallBody.objects.filter(created_at__lt=dropped_until(BODIES, before)))


def _prune_answers(before: datetime) -> int:
    """Answers kept for idempotency keys; an unfinished one is its process's affair for a day."""
    return _delete(KeptAnswer.objects.filter(created_at__lt=before))


def _prune_batches(before: datetime) -> int:
    """The files of their results expire by themselves."""
    return _delete(Batch.objects.filter(ended_at__lt=before))


def _prune_changes(before: datetime) -> int:
    """Keep the newest line whatever its age: its id is where every process has read to."""
    newest = ConfigChange.objects.aggregate(newest=Max("pk"))["newest"] or 0
    old = ConfigChange.objects.filter(pk__lt=newest, created_at__lt=before)
    return _delete(old.order_by("pk"))


def _prune_checks(before: datetime) -> int:
    newest = LedgerCheck.objects.aggregate(newest=Max("pk"))["newest"] or 0
    return LedgerCheck.objects.filter(pk__lt=newest, checked_at__lt=before).delete()[0]


def _delete(rows: QuerySet[Model]) -> int:
    """Delete the rows, a batch at a time; return how many went."""
    deleted = 0
    while ids := list(rows.values_list("pk", flat=True)[:BATCH]):
        deleted += rows.filter(pk__in=ids).delete()[0]
    return deleted
