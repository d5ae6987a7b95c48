"""Changing some fields of a row, with what they were before: the audit trail wants both."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from django.db.models import Model

from accounts.changes import differences
from gateway.core.json_types import JsonObject

Row = TypeVar("Row", bound=Model)


def change_fields(
    row: Row, fields: Mapping[str, object], check: Callable[[Row], None]
) -> JsonObject:
    """Save the fields whose value is another, as the database has them, and refresh the row.

    Returns {name: [before, after]}, empty when nothing is different. Raises as check does, of
    the row with its new values; then nothing is saved. Call it in a transaction.
    """
    stored = type(row)._default_manager.get(pk=row.pk)
    changed = differences(stored, fields)
    if not changed:
        return {}
    for name in changed:
        setattr(stored, name, fields[name])
    check(stored)
    stored.save(update_fields=list(changed))
    row.refresh_from_db()
    return changed
