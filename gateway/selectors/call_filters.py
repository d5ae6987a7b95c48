"""What to look for among calls, and which index finds it."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, replace
from datetime import datetime

from django.db.models import Q, QuerySet

from gateway.models import CallRecord
from gateway.models.call import IS_NOT_AS_ASKED, IS_NOT_OK
from gateway.selectors.id_times import first_id_at
from gateway.selectors.usage import FAILED_STATUSES
from gateway.selectors.visible import Visible
from keys.models import ApiKey

LAST_ID = 2**128 - 1
FAILED = "failed"  # a filter word that means all of FAILED_STATUSES
# Keys whose calls are read one key after the other; those of more keys are looked for among all
# calls of their workspace.
MOST_KEY_BRANCHES = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class CallFilters:
    """Conditions on calls; the empty ones do not narrow."""

    status: str = ""
    # The model asked for, or the one that served.
    model: str = ""
    provider: str = ""
    key_id: uuid.UUID | None = None
    streamed: bool | None = None
    # To another model than the one asked for.
    fell_back: bool | None = None
    error_code: str = ""
    # The public ID of a batch, whose calls these are.
    batch: str = ""
    min_total_us: int = 0
    starts_at: datetime | None = None
    ends_at: datetime | None = None

    @property
    def statuses(self) -> list[str]:
        """The statuses asked for; empty means any."""
        if self.status == FAILED:
            return sorted(FAILED_STATUSES)
        return [self.status] if self.status else []

    @property
    def asks_for_not_ok(self) -> bool:
        """True when only calls are asked for that did not end well."""
        return bool(self.statuses) and CallRecord.Status.OK not in self.statuses


@dataclass(frozen=True, slots=True)
class IdBounds:
    """Between which ids, these left out. One bound at each end: given two, SQLite seeks to the
    first and reads from there."""

    above: uuid.UUID | None
    below: uuid.UUID | None

    @property
    def conditions(self) -> dict[str, uuid.UUID]:
        found = {"id__gt": self.above, "id__lt": self.below}
        return {name: bound for name, bound in found.items() if bound is not None}

    def up_to(self, last: uuid.UUID, *, upwards: bool) -> IdBounds:
        """Return the same without what is read after `last`."""
        if upwards:
            return replace(self, below=uuid.UUID(int=min(last.int + 1, LAST_ID)))
        return replace(self, above=uuid.UUID(int=max(last.int - 1, 0)))


@dataclass(frozen=True, slots=True)
class Branch:
    """Calls that one index yields in order of their ids, and what is left to check on each."""

    calls: QuerySet[CallRecord]
    # Empty when the index alone decides.
    rest: Q
    bounds: IdBounds

    def rows(self, *, upwards: bool, last: uuid.UUID | None = None) -> QuerySet[CallRecord]:
        """Return the calls between the bounds, in the order in which they are read, and of those
        only the ones up to `last`."""
        bounds = self.bounds.up_to(last, upwards=upwards) if last else self.bounds
        return self.calls.filter(**bounds.conditions).order_by("id" if upwards else "-id")


# Calls, and what is left to check on each.
Indexed = tuple[QuerySet[CallRecord], Q]


def branches(
    visible: Visible,
    filters: CallFilters,
    *,
    before: uuid.UUID | None = None,
    after: uuid.UUID | None = None,
) -> list[Branch]:
    """Return the branches whose rows together are the calls looked for, between the two ids.

    Each branch pins every leading column of one index to one value, so that the database reads
    it in order of ids and can stop early; some keys or several statuses become several branches.
    """
    bounds = _id_bounds(filters, before, after)
    return [Branch(calls, rest, bounds) for calls, rest in _indexed(visible, filters)]


def _indexed(visible: Visible, filters: CallFilters) -> list[Indexed]:
    calls = CallRecord.objects.all()
    key_ids = _key_ids(visible, filters)
    if key_ids is not None and len(key_ids) <= MOST_KEY_BRANCHES:
        rest = _rest(filters) & _of_status(filters) & _asked_or_served(filters)
        return [(calls.filter(key_id=key_id), rest) for key_id in key_ids]
    theirs = Q() if key_ids is None else Q(key_id__in=key_ids)
    calls = calls.filter(workspace_id=visible.workspace_id)
    if filters.model:
        return _of_model(calls, theirs, filters)
    if filters.asks_for_not_ok:
        return _not_ok(calls, theirs & _rest(filters), filters)
    return [(calls, theirs & _rest(filters) & _of_status(filters))]


def _of_model(calls: QuerySet[CallRecord], theirs: Q, filters: CallFilters) -> list[Indexed]:
    """Return the branches of calls that the model served, and of those that asked for it and got
    another or none."""
    rest = theirs & _rest(filters) & _of_status(filters)
    # The first conditions repeat those of the partial indexes: SQLite needs to see them.
    asked = calls.filter(IS_NOT_AS_ASKED, requested_model=filters.model), rest
    if filters.statuses == [CallRecord.Status.REFUSED]:
        return [asked]  # no model served them
    served = calls.filter(IS_NOT_OK) if filters.asks_for_not_ok else calls
    return [(served.filter(model=filters.model), rest), asked]


def _not_ok(calls: QuerySet[CallRecord], rest: Q, filters: CallFilters) -> list[Indexed]:
    """Return a branch for each status that is asked for. Of refused calls none has a provider."""
    not_ok = calls.filter(IS_NOT_OK)  # as above
    return [
        (not_ok.filter(status=status), rest)
        for status in filters.statuses
        if not filters.provider or status != CallRecord.Status.REFUSED
    ]


def _key_ids(visible: Visible, filters: CallFilters) -> list[uuid.UUID] | None:
    """Return the keys to read one by one, or None to read the whole workspace."""
    if filters.key_id is None:
        return None if visible.key_ids is None else list(visible.key_ids)
    if visible.key_ids is not None:
        return [filters.key_id] if filters.key_id in visible.key_ids else []
    own = ApiKey.objects.filter(id=filters.key_id, workspace_id=visible.workspace_id)
    return [filters.key_id] if own.exists() else []


def _id_bounds(filters: CallFilters, before: uuid.UUID | None, after: uuid.UUID | None) -> IdBounds:
    above = [after] if after is not None else []
    below = [before] if before is not None else []
    if filters.starts_at is not None:
        above.append(uuid.UUID(int=first_id_at(filters.starts_at).int - 1))
    if filters.ends_at is not None:
        below.append(first_id_at(filters.ends_at))
    return IdBounds(max(above, default=None), min(below, default=None))


def _of_status(filters: CallFilters) -> Q:
    return Q(status__in=filters.statuses) if filters.statuses else Q()


def _asked_or_served(filters: CallFilters) -> Q:
    return Q(model=filters.model) | Q(requested_model=filters.model) if filters.model else Q()


def _rest(filters: CallFilters) -> Q:
    """Return the conditions that no index decides, whatever the branch."""
    rest = Q()
    if filters.provider:
        rest &= Q(provider=filters.provider)
    if filters.streamed is not None:
        rest &= Q(streamed=filters.streamed)
    if filters.fell_back is not None:
        rest &= Q(fallback_depth__gt=0) if filters.fell_back else Q(fallback_depth=0)
    if filters.error_code:
        rest &= Q(error_code=filters.error_code)
    if filters.batch:
        rest &= Q(client_request_id__startswith=f"{filters.batch}:")
    if filters.min_total_us:
        rest &= Q(total_us__gte=filters.min_total_us)
    return rest
