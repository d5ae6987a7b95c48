"""The ledger, read: balances and ledger entries. Writing is in accounts.ledger."""

from __future__ import annotations

import uuid
from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from django.db.models import Q, QuerySet

from accounts.models import LedgerDay, LedgerEntry, LedgerMark, Wallet

ENTRIES_PER_PAGE = 50


@dataclass(frozen=True, slots=True)
class Balance:
    """What a workspace has."""

    # The sum of its ledger entries.
    posted_nusd: int
    # The part that server processes may spend without asking.
    drawn_nusd: int
    entries: int


@dataclass(frozen=True, slots=True)
class LedgerPage:
    """Some entries, newest first."""

    entries: list[LedgerEntry]
    # Sequences to page from; None at either end.
    newer: int | None
    older: int | None


def balances_of(workspace_ids: Collection[uuid.UUID]) -> dict[uuid.UUID, int]:
    """Return what each of these workspaces has in nano-USD; without a wallet it is left out."""
    wallets = Wallet.objects.filter(workspace_id__in=workspace_ids)
    return dict(wallets.values_list("workspace_id", "posted_nusd"))


def find_balance(workspace_id: uuid.UUID) -> Balance:
    """Return what a workspace has; zeros before its wallet is opened."""
    wallet = Wallet.objects.filter(workspace_id=workspace_id).first()
    if wallet is None:
        return Balance(0, 0, 0)
    return Balance(wallet.posted_nusd, wallet.drawn_nusd, wallet.sequence)


def ledger_page(
    workspace_id: uuid.UUID,
    *,
    before: int | None = None,
    after: int | None = None,
    without_usage: bool = False,
    usage_of: tuple[date, uuid.UUID] | None = None,
    size: int = ENTRIES_PER_PAGE,
) -> LedgerPage:
    """Return up to `size` entries older than `before` or newer than `after`, newest first.

    usage_of: only what this key used on this day (UTC).
    Walks the unique index on (wallet, sequence): the cost does not grow with the ledger.
    """
    rows = LedgerEntry.objects.filter(wallet_id=workspace_id)
    if without_usage:
        rows = rows.filter(~Q(kind="usage"))
    if usage_of is not None:
        rows = _usage_of(rows, workspace_id, *usage_of)
    if after is not None:
        return _newer_page(rows, after, size)
    if before is not None:
        rows = rows.filter(sequence__lt=before)
    found = list(rows.order_by("-sequence")[: size + 1])
    entries = found[:size]
    newer = entries[0].sequence if before is not None and entries else None
    return LedgerPage(entries, newer, entries[-1].sequence if len(found) > size else None)


def _usage_of(
    rows: QuerySet[LedgerEntry], workspace_id: uuid.UUID, day: date, key_id: uuid.UUID
) -> QuerySet[LedgerEntry]:
    """Narrow the entries to what the key used that day, and to the numbers that these have."""
    starts_at = datetime(day.year, day.month, day.day, tzinfo=UTC)
    theirs = rows.filter(
        kind=LedgerEntry.Kind.USAGE,
        key_id=key_id,
        created_at__gte=starts_at,
        created_at__lt=starts_at + timedelta(days=1),
    )
    summed = LedgerDay.objects.filter(wallet_id=workspace_id, day=day, key_id=key_id).first()
    mark = LedgerMark.objects.filter(pk=workspace_id).values_list("sequence", flat=True).first()
    recent = theirs.filter(sequence__gt=mark or 0).order_by("-sequence").first()
    first = summed.first_sequence if summed else (mark or 0) + 1
    last = recent.sequence if recent else summed.last_sequence if summed else 0
    return theirs.filter(sequence__gte=first, sequence__lte=last)


def _newer_page(rows: QuerySet[LedgerEntry], after: int, size: int) -> LedgerPage:
    found = list(rows.filter(sequence__gt=after).order_by("sequence")[: size + 1])
    entries = found[:size][::-1]
    newer = entries[0].sequence if len(found) > size else None
    return LedgerPage(entries, newer, entries[-1].sequence if entries else None)
