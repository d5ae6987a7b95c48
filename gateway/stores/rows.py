"""Journal records as rows of the call table: plain tuples for executemany, either database.

Raw SQL, because a row of the call table costs ten times as much through the ORM, and every call
pays it. Texts that callers and providers choose are cut to the column's width.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

from django.db import connection

from gateway.journal.record import Admitted, Refused, Settled

COLUMNS = (
    "id",
    "workspace_id",
    "key_id",
    "process_id",
    "created_at",
    "status",
    "http_status",
    "error_code",
    "charge_basis",
    "model",
    "requested_model",
    "provider",
    "native_model",
    "streamed",
    "attempts",
    "finish_reason",
    "user",
    "client_request_id",
    "ip",
    "profile",
    "episode_id",
    "dropped_params",
    "prompt_tokens",
    "completion_tokens",
    "cached_tokens",
    "reasoning_tokens",
    "input_pusd_per_token",
    "cached_input_pusd_per_token",
    "output_pusd_per_token",
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
QUOTED = ", ".join(f'"{column}"' for column in COLUMNS)
INSERT_CALL = (
    f"INSERT INTO gateway_callrecord ({QUOTED}) "  # noqa: S608 (constants only)
    f"VALUES ({', '.join(['%s'] * len(COLUMNS))})"
)
# Everything but the id; the id comes last, for the condition.
END_CALL = (
    "UPDATE gateway_callrecord SET "  # noqa: S608 (constants only)
    + ", ".join(f'"{column}" = %s' for column in COLUMNS[1:])
    + " WHERE id = %s AND status = 'in_progress'"
)
INSERT_BODY = (
    "INSERT INTO gateway_callbody (call_id, workspace_id, created_at, request, response) "
    "VALUES (%s, %s, %s, %s, %s)"
)
MICROS_PER_S = 1_000_000
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
Row = tuple[Any, ...]


class Rows:
    """Turns one process's records into rows for the database in use."""

    def __init__(self, process_id: str) -> None:
        self._id: Callable[[str], Any] = raw_id if connection.vendor == "sqlite" else str
        self._moment = sqlite_moment if connection.vendor == "sqlite" else moment
        self._process = self._id(process_id)

    def id_of(self, call_id: str) -> Any:
        return self._id(call_id)

    def of_admitted(self, record: Admitted) -> Row:
        """Return the row of a call that runs."""
        return (
            self._id(record.call_id),
            self._id(record.workspace_id),
            self._id(record.key_id),
            self._process,
            self._moment(record.at),
            "in_progress",
            *(0, "", ""),
            record.model[:200],
            record.requested_model[:256],
            *("", "", record.streamed, "[]", ""),
            record.user[:256],
            record.client_request_id[:128],
            record.ip[:45],
            record.profile,
            self._id(record.episode_id) if record.episode_id else None,
            "[]",
            *(0, 0, 0, 0),
            *(record.input_pusd, record.cached_input_pusd, record.output_pusd),
            record.hold_nusd,
            *(0, 0, 0, 0, 0, 0, None, 0),
        )

    def of_settled(self, record: Settled) -> Row:
        """Return the row of a call that has ended."""
        return (
            self._id(record.call_id),
            self._id(record.workspace_id),
            self._id(record.key_id),
            self._process,
            self._moment(record.at),
            record.status,
            record.http_status,
            record.error_code[:60],
            record.charge_basis,
            record.model[:200],
            record.requested_model[:256],
            record.provider[:60],
            record.native_model[:200],
            record.streamed,
            record.attempts,
            record.finish_reason[:32],
            record.user[:256],
            record.client_request_id[:128],
            record.ip[:45],
            record.profile,
            self._id(record.episode_id) if record.episode_id else None,
            record.dropped_params,
            record.prompt_tokens,
            record.completion_tokens,
            record.cached_tokens,
            record.reasoning_tokens,
            record.input_pusd,
            record.cached_input_pusd,
            record.output_pusd,
            record.hold_nusd,
            record.charge_nusd,
            record.absorbed_nusd,
            record.total_us,
            record.admit_us,
            record.queued_us,
            record.failed_us,
            record.ttft_us,
            record.upstream_us,
        )

    def of_refused(self, record: Refused) -> Row:
        """Return the row of a call that was not let in."""
        return (
            self._id(record.call_id),
            self._id(record.workspace_id),
            self._id(record.key_id),
            self._process,
            self._moment(record.at),
            "refused",
            record.http_status,
            record.error_code[:60],
            *("", ""),
            record.requested_model[:256],
            *("", "", False, "[]", "", ""),
            record.client_request_id[:128],
            record.ip[:45],
            *("", None, "[]"),
            *(0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
            record.total_us,
            *(0, 0, 0, None, 0),
        )

    def of_body(self, record: Settled) -> Row:
        """Return the row of what was said."""
        return (
            self._id(record.call_id),
            self._id(record.workspace_id),
            self._moment(record.at),
            record.request_body,
            record.response_body,
        )


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
