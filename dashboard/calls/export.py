"""Calls as CSV, page by page, so that a file of any size takes little memory: one page at a time,
and a pause as long as it took, so that files never take more than half of a core from calls.
"""

from __future__ import annotations

import asyncio
import csv
import io
import time
import uuid
from collections.abc import AsyncIterator, Sequence
from unicodedata import category, normalize

from asgiref.sync import sync_to_async

from dashboard.keys.labels import key_labels
from gateway.core.durations import added_us
from gateway.core.fair_semaphore import FairSemaphore
from gateway.core.money import format_usd
from gateway.core.switch_interval import short_switch_interval
from gateway.models import CallRecord
from gateway.selectors.call_filters import CallFilters
from gateway.selectors.calls import CallPage, call_page
from gateway.selectors.visible import Visible

PAGE = 250
# A cell that starts so is run as a formula by spreadsheet programs. Some take off what they do not
# show first, and some take full-width and other forms of a sign for the sign.
_FORMULA_SIGNS = frozenset("=+-@\N{MINUS SIGN}")
_SEPARATORS = frozenset("\t\r\n")
_UNSEEN = frozenset({"Cc", "Cf", "Zl", "Zp", "Zs"})  # Unicode's categories of what is not shown
HEADER = (
    "id",
    "created_at",
    "status",
    "http_status",
    "error_code",
    "key",
    "key_id",
    "model",
    "requested_model",
    "fallback_depth",
    "provider",
    "streamed",
    "finish_reason",
    "user",
    "prompt_tokens",
    "cached_tokens",
    "completion_tokens",
    "reasoning_tokens",
    "other_units",
    "charge_usd",
    "charge_basis",
    "absorbed_usd",
    "total_ms",
    "added_ms",
    "first_event_ms",
    "pdf_pages",
    "pdf_fee_usd",
    "calls",
)
_one_at_a_time = FairSemaphore(1, 1)


async def csv_lines(visible: Visible, filters: CallFilters) -> AsyncIterator[str]:
    """Yield the header, then the lines of one page of calls after the other, newest first."""
    yield _encode([HEADER])
    before: uuid.UUID | None = None
    while True:
        async with _one_at_a_time.slot(""):
            began_s = time.monotonic()
            with short_switch_interval():
                page, text = await sync_to_async(_read_page)(visible, filters, before)
            await asyncio.sleep(time.monotonic() - began_s)
        if text:
            yield text
        if page.older is None:
            return
        before = page.older


def neutral(text: str) -> str:
    """Return a cell's text such that no spreadsheet program takes it for a formula."""
    if text[:1] in _SEPARATORS:
        return f"'{text}"
    shown = next((sign for sign in text if category(sign) not in _UNSEEN), "")
    is_formula = normalize("NFKC", shown)[:1] in _FORMULA_SIGNS
    return f"'{text}" if is_formula else text


def _read_page(
    visible: Visible, filters: CallFilters, before: uuid.UUID | None
) -> tuple[CallPage, str]:
    page = call_page(visible, filters, before=before, size=PAGE)
    labels = key_labels(visible.workspace_id, (call.key_id for call in page.calls))
    return page, _encode([_cells(call, labels.get(call.key_id, "")) for call in page.calls])


def _cells(call: CallRecord, key_label: str) -> tuple[str, ...]:
    chosen_by_others = (
        call.error_code,
        key_label,
        str(call.key_id),
        call.model,
        call.requested_model,
    )
    return (
        str(call.id),
        call.created_at.isoformat(timespec="milliseconds"),
        call.status,
        str(call.http_status or ""),
        *map(neutral, chosen_by_others),
        str(call.fallback_depth),
        neutral(call.provider),
        "yes" if call.streamed else "no",
        neutral(call.finish_reason),
        neutral(call.user),
        str(call.prompt_tokens),
        str(call.cached_tokens),
        str(call.completion_tokens),
        str(call.reasoning_tokens),
        " ".join(f"{name}={one['count']}" for name, one in sorted((call.units or {}).items())),
        format_usd(call.charge_nusd),
        call.charge_basis,
        format_usd(call.absorbed_nusd),
        _ms(call.total_us),
        _ms(added_us(call)),
        _ms(call.ttft_us) if call.ttft_us is not None else "",
        str(call.pdf_pages),
        format_usd(call.pdf_fee_nusd),
        str(call.counted_calls),
    )


def _ms(duration_us: int) -> str:
    return f"{max(duration_us, 0) / 1_000:.3f}"


def _encode(rows: Sequence[Sequence[str]]) -> str:
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    return text.getvalue()
