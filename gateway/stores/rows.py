"""Journal records as rows of the call table: plain tuples for raw SQL, either database.

Raw SQL, because a row of the call table costs ten times as much through the ORM, and every call
pays it. Texts that callers and providers choose are cut to the column's width.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from operator import attrgetter, itemgetter
from typing import Any

from django.db import connection

from gateway.journal.record import Admitted, Refused, Settled
from gateway.stores.inserts import Insert, Row

# What calls of one key to one model mostly have in common, and what is each call's own.
COMMON_COLUMNS = (
    "process_id",
    "workspace_id",
    "key_id",
    "status",
    "http_status",
    "error_code",
    "charge_basis",
    "model",
    "requested_model",
    "provider",
    "native_model",
    "streamed",
    "finish_reason",
    "native_finish_reason",
    "ip",
    "profile",
    "dropped_params",
    "fallback_from",
    "fallback_depth",
    "pdf_pages",
    "pdf_page_nusd",
    "input_pusd_per_token",
    "cached_input_pusd_per_token",
    "output_pusd_per_token",
)
NUMBERS = (
    "prompt_tokens",
    "completion_tokens",
    "cached_tokens",
    "reasoning_tokens",
    "num_tool_calls",
    "hold_nusd",
    "charge_nusd",
    "absorbed_nusd",
    "total_us",
    "admit_us",
    "queued_us",
    "failed_us",
    "ttft_us",
    "upstream_us",
)
OWN_COLUMNS = (
    "id",
    "created_at",
    *NUMBERS,
    "attempts",
    "user",
    "client_request_id",
    "episode_id",
)
COLUMNS = (*COMMON_COLUMNS, *OWN_COLUMNS)
INSERT_CALLS = Insert("gateway_callrecord", COMMON_COLUMNS, OWN_COLUMNS)
# A row that stands for many refused calls, and goes on being added to for a minute.
COUNT_CALLS = Insert(
    "gateway_callrecord",
    COMMON_COLUMNS,
    (*OWN_COLUMNS, "counted_calls"),
    on_conflict="ON CONFLICT (id) DO UPDATE SET "
    "counted_calls = gateway_callrecord.counted_calls + excluded.counted_calls",
)
# What every journal's Admitted has said already: to set it again would cost each index a move.
KNOWN_COLUMNS = frozenset(
    {"id", "process_id", "workspace_id", "key_id", "created_at", "requested_model", "streamed"}
)
ENDING_COLUMNS = tuple(column for column in COLUMNS if column not in KNOWN_COLUMNS)
END_CALL = (
    "UPDATE gateway_callrecord SET "  # noqa: S608 (constants only)
    + ", ".join(f'"{column}" = %s' for column in ENDING_COLUMNS)
    + " WHERE id = %s AND status = 'in_progress'"
)
INSERT_BODY = (
    "INSERT INTO gateway_callbody (call_id, workspace_id, created_at, request, response) "
    "VALUES (%s, %s, %s, %s, %s)"
)
BLANK: dict[str, Any] = {
    **dict.fromkeys(COLUMNS, ""),
    **dict.fromkeys(NUMBERS, 0),
    "http_status": 0,
    "fallback_depth": 0,
    "pdf_pages": 0,
    "pdf_page_nusd": 0,
    "input_pusd_per_token": 0,
    "cached_input_pusd_per_token": 0,
    "output_pusd_per_token": 0,
    "ttft_us": None,
    "streamed": False,
    "attempts": "[]",
    "dropped_params": "[]",
    "episode_id": None,
}
MICROS_PER_S = 1_000_000
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
Parts = tuple[Row, Row]

# The fields of Settled behind COMMON_COLUMNS, without the process.
alike = attrgetter(*COMMON_COLUMNS[1:-3], "input_pusd", "cached_input_pusd", "output_pusd")
_numbers = attrgetter(*NUMBERS)
_common = itemgetter(*COMMON_COLUMNS)
_own = itemgetter(*OWN_COLUMNS)
_ending = itemgetter(*map(COLUMNS.index, (*ENDING_COLUMNS, "id")))


class Rows:
    """Turns one process's records into rows for the database in use.

    A row comes in two parts: the values of COMMON_COLUMNS and those of OWN_COLUMNS.
    """

    def __init__(self, process_id: str) -> None:
        self._id: Callable[[str], Any] = raw_id if connection.vendor == "sqlite" else str
        self._moment = sqlite_moment if connection.vendor == "sqlite" else moment
        self._process = self._id(process_id)

    def id_of(self, call_id: str) -> Any:
        return self._id(call_id)

    def of_admitted(self, record: Admitted) -> Parts:
        """Return the row of a call that runs."""
        return self._parts(
            record,
            status="in_progress",
            model=record.model[:200],
            streamed=record.streamed,
            user=record.user[:256],
            profile=record.profile,
            episode_id=self._id(record.episode_id) if record.episode_id else None,
            input_pusd_per_token=record.input_pusd,
            cached_input_pusd_per_token=record.cached_input_pusd,
            output_pusd_per_token=record.output_pusd,
            hold_nusd=record.hold_nusd,
        )

    def of_refused(self, record: Refused) -> Parts:
        """Return the row of a call that was not let in."""
        return self._parts(
            record,
            status="refused",
            http_status=record.http_status,
            error_code=record.error_code[:60],
            total_us=record.total_us,
        )

    def common_of(self, record: Settled) -> Row:
        """Return the part of a call that has ended which others may share: see `alike`."""
        return (
            self._process,
            self._id(record.workspace_id),
            self._id(record.key_id),
            record.status,
            record.http_status,
            record.error_code[:60],
            record.charge_basis,
            record.model[:200],
            record.requested_model[:256],
            record.provider[:60],
            record.native_model[:200],
            record.streamed,
            record.finish_reason[:32],
            record.native_finish_reason[:32],
            record.ip[:45],
            record.profile,
            record.dropped_params,
            record.fallback_from[:200],
            record.fallback_depth,
            record.pdf_pages,
            record.pdf_page_nusd,
            record.input_pusd,
            record.cached_input_pusd,
            record.output_pusd,
        )

    def own_of(self, record: Settled) -> Row:
        """Return the part of a call that has ended which is its own."""
        return (
            self._id(record.call_id),
            self._moment(record.at),
            *_numbers(record),
            record.attempts,
            record.user[:256],
            record.client_request_id[:128],
            self._id(record.episode_id) if record.episode_id else None,
        )

    def ending_of(self, record: Settled) -> Row:
        """Return the values of END_CALL."""
        return tuple(_ending(self.common_of(record) + self.own_of(record)))

    def of_body(self, record: Settled) -> Row:
        """Return the row of what was said."""
        return (
            self._id(record.call_id),
            self._id(record.workspace_id),
            self._moment(record.at),
            record.request_body,
            record.response_body,
        )

    def _parts(self, record: Admitted | Refused, **known: Any) -> Parts:
        values = BLANK | known
        values["id"] = self._id(record.call_id)
        values["process_id"] = self._process
        values["workspace_id"] = self._id(record.workspace_id)
        values["key_id"] = self._id(record.key_id)
        values["created_at"] = self._moment(record.at)
        values["requested_model"] = record.requested_model[:256]
        values["client_request_id"] = record.client_request_id[:128]
        values["ip"] = record.ip[:45]
        return _common(values), _own(values)


def micros(at: float) -> int:
    """Return seconds since the epoch as whole microseconds: what both databases keep.

    Everything that is derived from a record's moment starts here, so that a call just before a
    full quarter of an hour is not in one quarter by its row and in another by the totals.
    """
    return round(at * MICROS_PER_S)


def moment(at: float) -> datetime:
    """Return seconds since the epoch as an aware moment."""
    return EPOCH + timedelta(microseconds=micros(at))


def sqlite_moment(at: float) -> str:
    """Return the moment as Django writes it into SQLite: naive UTC text."""
    second, rest = divmod(micros(at), MICROS_PER_S)
    text = _second_as_text(second)
    return f"{text}.{rest:06d}" if rest else text


@lru_cache(maxsize=64)
def _second_as_text(second: int) -> str:
    """Most calls of a batch share a handful of seconds."""
    return str((EPOCH + timedelta(seconds=second)).replace(tzinfo=None))


def raw_id(text: str) -> str:
    return text.replace("-", "")
