"""Usage of a workspace, or some of its keys, by model, key, day or member, from the rollups."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from functools import cache
from itertools import chain

from django.db.models import F, Model, Q, QuerySet, Sum

from accounts.untyped import NamedRow, SqlRow
from gateway.selectors.steps import Day
from gateway.selectors.stretches import plain_rows, usage_rows
from gateway.selectors.visible import Visible
from keys.models import ApiKey

FAILED = ("upstream_error", "platform_aborted")
SUMS = ("calls", "prompt_tokens", "completion_tokens", "charge_nusd")
SHOWN = (*SUMS, "failed", "refused")
_COLUMNS = {"model": "model", "key": "key_id", "day": "day", "member": "key_id"}
_ANNOTATIONS = {f"sum_{name}": Sum(name) for name in SUMS} | {
    "sum_failed": Sum("calls", filter=Q(status__in=FAILED), default=0),
    "sum_refused": Sum("calls", filter=Q(status="refused"), default=0),
}


def usage_by(
    visible: Visible, *, start: datetime, end: datetime, by: Sequence[str]
) -> list[NamedRow]:
    """Return totals per group, in the order of the groups' names.

    by: any of model, key, day, member; empty for one total. Each row has a value for each of
    them, and calls, failed, refused, prompt_tokens, completion_tokens, charge_nusd. A member is
    who made the key; None for keys that nobody on record has made.
    """
    by_key = not {"key", "member"}.isdisjoint(by)
    columns = list(dict.fromkeys(_COLUMNS[name] for name in by))
    read_names = [(columns.index(_COLUMNS[name]), _reader(name, visible)) for name in by]
    groups: dict[tuple[str | None, ...], list[int]] = {}
    parts = usage_rows(visible, start, end, by_key=by_key)
    for row in chain.from_iterable(_summed(rows, columns) for rows in parts):
        names = tuple([read(row[place]) for place, read in read_names])
        sums = list(map(int, row[len(columns) :]))
        known = groups.get(names)
        groups[names] = sums if known is None else [*map(sum, zip(known, sums, strict=True))]
    ordered = sorted(groups.items(), key=_by_name) if "member" in by else sorted(groups.items())
    shown = (*by, *SHOWN)
    return [dict(zip(shown, (*names, *sums), strict=True)) for names, sums in ordered]


def _summed(rows: QuerySet[Model], columns: Sequence[str]) -> Iterable[SqlRow]:
    """Return a row for each group: the columns, and the sums in the order of SHOWN."""
    if not columns:
        sums = rows.aggregate(**_ANNOTATIONS)
        return [tuple(sums.values())] if sums["sum_calls"] is not None else []
    shown = rows.annotate(day=Day(F("starts_at"))) if "day" in columns else rows
    summed = shown.order_by().values_list(*columns).annotate(**_ANNOTATIONS)
    return plain_rows(summed.values_list(*columns, *_ANNOTATIONS))


def _reader(name: str, visible: Visible) -> Callable[[object], str | None]:
    """Return what makes a column's value the name of a group. Keys come as the database has them,
    each in many rows."""
    if name == "key":
        return cache(lambda value: str(_id(value)))
    if name == "member":
        members = _members(visible.workspace_id)
        return cache(lambda value: members.get(_id(value)))
    return str


def _id(value: object) -> uuid.UUID:
    return value if isinstance(value, uuid.UUID) else uuid.UUID(str(value))


def _by_name(group: tuple[tuple[str | None, ...], list[int]]) -> tuple[str, ...]:
    return tuple(map(str, group[0]))


def _members(workspace_id: uuid.UUID) -> dict[uuid.UUID, str]:
    keys = ApiKey.objects.filter(workspace_id=workspace_id).exclude(created_by=None)
    return dict(keys.values_list("id", "created_by__email"))
