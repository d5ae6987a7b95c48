"""Lists of calls, page by page, and one call whole. Never counts, never skips, never scans on.

Pages are cut by id (newest first). A condition that no index decides is checked on at most
SCAN_ROWS rows per page; the page then says how far back it has looked.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.utils import timezone

from gateway.models import CallBody, CallRecord
from gateway.selectors.call_filters import LAST_ID, Branch, CallFilters, branches
from gateway.selectors.call_names import find_call_named
from gateway.selectors.id_times import moment_of
from gateway.selectors.visible import Visible

CALLS_PER_PAGE = 50
SCAN_ROWS = 12_000
# So many first: mostly there is a page full among them.
FEW_ROWS = 1_000


@dataclass(frozen=True, slots=True)
class CallPage:
    """Some calls, newest first.

    newer, older: ids to page from, None at either end. searched_to: set when the search stopped
    before the end of the period because it had read its share; `older` goes on from there.
    """

    calls: list[CallRecord]
    newer: uuid.UUID | None
    older: uuid.UUID | None
    searched_to: datetime | None = None


def call_page(
    visible: Visible,
    filters: CallFilters,
    *,
    before: uuid.UUID | None = None,
    after: uuid.UUID | None = None,
    size: int = CALLS_PER_PAGE,
    scan_rows: int = SCAN_ROWS,
) -> CallPage:
    """Return up to `size` calls older than `before`, or newer than `after`, newest first.

    scan_rows: on how many rows conditions without an index are checked, at the most.
    """
    wanted = branches(visible, filters, before=before, after=after)
    found, edge = _read(wanted, upwards=after is not None, size=size, scan_rows=scan_rows)
    calls = found[:size]
    onwards = calls[-1].id if len(found) > size else edge
    if after is not None:
        calls.reverse()
        older = calls[-1].id if calls else uuid.UUID(int=min(after.int + 1, LAST_ID))
        return CallPage(calls, onwards, older, moment_of(edge) if edge else None)
    newer = (calls[0].id if calls else before) if before is not None else None
    searched_to = moment_of(edge) if edge and len(found) <= size else None
    return CallPage(calls, newer, onwards, searched_to)


def find_call(visible: Visible, name: str) -> CallRecord | None:
    """Return one call, by any of its names, if this person may see it."""
    return find_call_named(visible, name)


def find_body(call: CallRecord) -> CallBody | None:
    """Return what was said in a call, if its workspace had storing on and its days are not over.
    It may be deleted up to a day later."""
    since = timezone.now() - timedelta(days=settings.BODY_DAYS)
    return CallBody.objects.filter(
        call_id=call.id, workspace_id=call.workspace_id, created_at__gte=since
    ).first()


def _read(
    wanted: list[Branch], *, upwards: bool, size: int, scan_rows: int
) -> tuple[list[CallRecord], uuid.UUID | None]:
    """Return up to size + 1 calls in reading order, and the id where the search stopped short.

    A branch that stopped short may have matches beyond that id which it has not seen: what the
    other branches found beyond it is left for the next page, or the order would break.
    """
    found: list[CallRecord] = []
    edges: list[uuid.UUID] = []
    share = max(scan_rows // max(1, len(wanted)), 1)
    for branch in wanted:
        matches, edge = _read_branch(branch, upwards=upwards, size=size, scan=share)
        found += matches
        edges += [edge] if edge else []
    found.sort(key=_id_of, reverse=not upwards)
    edge = (min(edges) if upwards else max(edges)) if edges else None
    if edge is not None:
        found = [call for call in found if (call.id <= edge if upwards else call.id >= edge)]
    return found[: size + 1], edge


def _read_branch(
    branch: Branch, *, upwards: bool, size: int, scan: int
) -> tuple[list[CallRecord], uuid.UUID | None]:
    """Return up to size + 1 calls, and the id where the search stopped short.

    The last id to look at is found first, by the index alone, and is then a bound: whatever the
    database makes of the other conditions, it reads no more rows, and no other partitions.
    """
    rows = branch.rows(upwards=upwards)
    if not branch.rest:
        return list(rows[: size + 1]), None
    few = min(FEW_ROWS, scan)
    matches, edge = _search(branch, few, upwards=upwards, size=size)
    if edge is None or few == scan:
        return matches, edge
    return _search(branch, scan, upwards=upwards, size=size)


def _search(
    branch: Branch, scan: int, *, upwards: bool, size: int
) -> tuple[list[CallRecord], uuid.UUID | None]:
    ids = branch.rows(upwards=upwards).values_list("id", flat=True)
    edge = ids[scan - 1 : scan].first()
    within = branch.rows(upwards=upwards, last=edge).filter(branch.rest)
    matches = list(within[: size + 1])
    return matches, None if len(matches) > size else edge


def _id_of(call: CallRecord) -> uuid.UUID:
    return call.id
