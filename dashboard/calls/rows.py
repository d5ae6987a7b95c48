"""Calls as rows of a table: the record, and what the table says about it in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dashboard.calls.status_text import STATUS_WORDS, StatusWords
from dashboard.calls.timing import Stretch, stretches, timing_parts
from dashboard.keys.labels import key_labels
from gateway.core.durations import added_us
from gateway.models import CallRecord
from gateway.selectors.visible import Visible


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRow:
    """One row. model: the one that served, or was asked for where none did. asked_for: where
    another one served. bar: against the slowest shown."""

    call: CallRecord
    status: StatusWords
    key_label: str
    model: str
    asked_for: str
    added_us: int | None
    bar: Sequence[Stretch]

    @property
    def is_running(self) -> bool:
        return self.call.status == CallRecord.Status.IN_PROGRESS


def call_rows(visible: Visible, calls: Sequence[CallRecord]) -> list[CallRow]:
    """Return a row for each call, in the order given."""
    labels = key_labels(visible.workspace_id, (call.key_id for call in calls))
    slowest_us = max((call.total_us for call in calls), default=0)
    return [
        CallRow(
            call=call,
            status=STATUS_WORDS[call.status],
            key_label=labels.get(call.key_id, f"key {str(call.key_id)[:8]}"),
            model=call.model or call.requested_model,
            asked_for=call.requested_model if call.model not in ("", call.requested_model) else "",
            added_us=added_us(call) if call.upstream_us or call.failed_us else None,
            bar=stretches(timing_parts(call), slowest_us),
        )
        for call in calls
    ]
