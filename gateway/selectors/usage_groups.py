"""Usage of a workspace, or some of its keys, by model, key, day or member, from the rollups."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import chain

from django.db.models import F, Model, QuerySet, Sum

from accounts.untyped import NamedRow
from gateway.selectors.steps import Day
from gateway.selectors.stretches import usage_rows
from gateway.selectors.visible import Visible
from keys.models import ApiKey

FAILED = ("upstream_error", "platform_aborted")
SUMS = ("calls", "prompt_tokens", "completion_tokens", "charge_nusd")
SHOWN = (*SUMS, "failed", "refused")


def usage_by(
    visible: Visible, *, start: datetime, end: datetime, by: Sequence[str]
) -> list[NamedRow]:
    """Return totals per group, in the order of the groups' names.

    by: any of model, key, day, member; empty for one total. Each row has a value for each of
    them, and calls, failed, refused, prompt_tokens, completion_tokens, charge_nusd. A member is
    who made the key; None for keys that nobody on record has made.
    """
    by_key = not {"key", "member"}.isdisjoint(by)
    members = _members(visible.workspace_id) if "member" in by else {}
    groups: dict[tuple[str | None, ...], Counter[str]] = {}
    parts = usage_rows(visible, start, end, by_key=by_key)
    for row in chain.from_iterable(_summed(rows, by) for rows in parts):
        names = tuple(_named(name, row, members) for name in by)
        _add(groups.setdefault(names, Counter()), row)
    ordered = sorted(groups.items(), key=lambda item: tuple(map(str, item[0])))
    return [
        dict(zip(by, names, strict=True)) | {name: sums[name] for name in SHOWN}
        for names, sums in ordered
    ]


def _summed(rows: QuerySet[Model], by: Sequence[str]) -> Iterable[NamedRow]:
    columns = {"model": "model", "key": "key_id", "day": "day", "member": "key_id"}
    wanted = {columns[name] for name in by} | {"status"}
    sums = {f"sum_{name}": Sum(name) for name in SUMS}
    shown = rows.annotate(day=Day(F("starts_at"))) if "day" in by else rows
    found: Iterable[NamedRow] = shown.values(*sorted(wanted)).annotate(**sums).order_by()
    return found


def _named(name: str, row: NamedRow, members: dict[uuid.UUID, str]) -> str | None:
    if name == "member":
        key_id: uuid.UUID = row["key_id"]
        return members.get(key_id)
    return str(row["key_id"] if name == "key" else row[name])


def _add(group: Counter[str], row: NamedRow) -> None:
    for name in SUMS:
        group[name] += row[f"sum_{name}"]
    if row["status"] in FAILED:
        group["failed"] += row["sum_calls"]
    elif row["status"] == "refused":
        group["refused"] += row["sum_calls"]


def _members(workspace_id: uuid.UUID) -> dict[uuid.UUID, str]:
    keys = ApiKey.objects.filter(workspace_id=workspace_id).exclude(created_by=None)
    return dict(keys.values_list("id", "created_by__email"))
