"""What keys have done: their last call, and sums of a period. Beside keys, which cannot ask."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from uuid import UUID

from django.db.models import OuterRef, QuerySet, Subquery

from gateway.models import CallRecord, LanguageModel
from gateway.selectors.periods import Period
from gateway.selectors.usage import Totals, totals_by_key
from gateway.selectors.visible import Visible
from keys.models import ApiKey


def last_calls(keys: QuerySet[ApiKey]) -> dict[UUID, datetime]:
    """Return when each key was last used; keys never used are left out.

    One index seek per key: meant for a page of them.
    """
    newest = CallRecord.objects.filter(key_id=OuterRef("pk")).order_by("-id")
    rows = keys.annotate(last_call_at=Subquery(newest.values("created_at")[:1]))
    return {pk: at for pk, at in rows.values_list("pk", "last_call_at") if at is not None}


def key_totals(workspace_id: UUID, key_ids: Collection[UUID], period: Period) -> dict[UUID, Totals]:
    """Return the sums of these keys over the period; keys without calls are left out."""
    return totals_by_key(Visible(workspace_id, tuple(key_ids)), period)


def model_names() -> list[str]:
    """Return the public models that can be called now, by name."""
    return list(LanguageModel.objects.filter(enabled=True).values_list("name", flat=True))
