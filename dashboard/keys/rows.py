"""Rows of the list of keys, and the filters that narrow it down."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Q, QuerySet
from django.utils import timezone

from accounts.models import Workspace
from dashboard.http.query_params import read_id_place, read_text
from gateway.selectors.key_use import key_totals, last_calls
from gateway.selectors.periods import named_period
from gateway.selectors.usage import Totals
from keys.models import ApiKey

KEYS_PER_PAGE = 50
USE_PERIOD = "30d"
STATES = {"active": "Active", "expired": "Expired", "revoked": "Revoked", "all": "All"}
DEFAULT_STATE = "active"


@dataclass(frozen=True, slots=True)
class KeyRow:
    """A key with what it has done. last_call_at: None when it was never used."""

    key: ApiKey
    totals: Totals
    last_call_at: datetime | None


@dataclass(frozen=True, slots=True)
class KeyFilters:
    """Read from the URL; anything unreadable is as if it were not there."""

    query: str = ""
    state: str = DEFAULT_STATE
    before: UUID | None = None

    @property
    def is_plain(self) -> bool:
        """True when nothing was asked for beyond what the page shows by itself."""
        return not self.query and self.state == DEFAULT_STATE and self.before is None


def read_filters(query: Mapping[str, str]) -> KeyFilters:
    state = query.get("state", DEFAULT_STATE)
    return KeyFilters(
        query=read_text(query),
        state=state if state in STATES else DEFAULT_STATE,
        before=read_id_place(query, "before"),
    )


def filtered(keys: QuerySet[ApiKey], filters: KeyFilters) -> QuerySet[ApiKey]:
    """Narrow the keys down; ordering by id is ordering by age, which the pager relies on."""
    now = timezone.now()
    if filters.state == "revoked":
        keys = keys.filter(revoked_at__isnull=False)
    elif filters.state == "expired":
        keys = keys.filter(revoked_at=None, expires_at__lte=now)
    elif filters.state == "active":
        keys = keys.filter(Q(expires_at=None) | Q(expires_at__gt=now), revoked_at=None)
    if filters.query:
        keys = keys.filter(Q(label__icontains=filters.query) | Q(hint=filters.query[-4:]))
    return keys


def key_rows(
    keys: QuerySet[ApiKey], filters: KeyFilters, workspace: Workspace
) -> tuple[list[KeyRow], UUID | None]:
    """Return one page of rows, and the id to pass as `before` for the next, if there is one."""
    found = filtered(keys, filters)
    if filters.before is not None:
        found = found.filter(pk__lt=filters.before)
    page = list(found[: KEYS_PER_PAGE + 1])
    shown = page[:KEYS_PER_PAGE]
    rows = with_use(shown, workspace)
    return rows, shown[-1].pk if len(page) > KEYS_PER_PAGE else None


def with_use(keys: list[ApiKey], workspace: Workspace) -> list[KeyRow]:
    """Put beside each key what it has done over the last 30 days, and when last."""
    ids = [key.pk for key in keys]
    used_at = last_calls(ApiKey.objects.filter(pk__in=ids))
    totals = key_totals(workspace.pk, ids, named_period(USE_PERIOD, now=timezone.now()))
    return [KeyRow(key, totals.get(key.pk, Totals()), used_at.get(key.pk)) for key in keys]
