"""Journal records as rows of the call table: plain tuples for raw SQL, either database.

Raw SQL, because a row of the call table costs ten times as much through the ORM, and every call
pays it. Texts that callers and providers choose are cut to the column's width.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from operator import attrgetter, itemgetter, methodcaller

import msgspec
from django.db import connection

from gateway.core.money import Price
from gateway.core.receipt import PDF, ToolUse
from gateway.journal.record import Admitted, Refused, Settled
from gateway.stores.inserts import Insert, Row, storable

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
    "endpoint",
    "finish_reason",
    "native_finish_reason",
    "ip",
    "profile",
    "dropped_params",
    "fallback_from",
    "fallback_depth",
    "pdf_pages",
    "pdf_page_nusd",
    "tool_uses",
    "input_pusd_per_token",
    "cached_input_pusd_per_token",
    "output_pusd_per_token",
)
# Numbers of a call's usage and of its receipt; columns are called as the fields are.
USAGE = ("prompt_tokens", "completion_tokens", "cached_tokens", "reasoning_tokens")
DURATIONS = (
    *("total_us", "admit_us", "queued_us", "failed_us", "ttft_us", "upstream_us"),
    "tools_us",
)
NUMBERS = (
    *USAGE,
    "num_tool_calls",
    "hold_nusd",
    "charge_nusd",
    "absorbed_nusd",
    *DURATIONS,
)
PLAIN_COLUMNS = (
    "id",
    "created_at",
    *NUMBERS,
    "attempts",
    "user",
    "client_request_id",
    "episode_id",
)
# NULL for most calls, which are inserted without them: sqlite3 takes longer for each NULL than for
# a number.
OWN_COLUMNS = (*PLAIN_COLUMNS, "units", "processors", "tool_runs")
COLUMNS = (*COMMON_COLUMNS, *OWN_COLUMNS)
INSERT_PLAIN_CALLS = Insert("gateway_callrecord", COMMON_COLUMNS, PLAIN_COLUMNS)
INSERT_CALLS = Insert("gateway_callrecord", COMMON_COLUMNS, OWN_COLUMNS)
INSERT_REFUSED = Insert("gateway_callrecord", COMMON_COLUMNS, (*OWN_COLUMNS, "refusal"))
# A row that stands for many refused calls, and goes on being added to for a minute.
COUNT_CALLS = Insert(
    "gateway_callrecord",
    COMMON_COLUMNS,
    (*OWN_COLUMNS, "refusal", "counted_calls"),
    on_conflict="ON CONFLICT (id) DO UPDATE SET "
    "counted_calls = gateway_callrecord.counted_calls + excluded.counted_calls",
)
# What every journal's Admitted has said already: to set it again would cost each index a move.
KNOWN_COLUMNS = frozenset(
    {
        *("id", "process_id", "workspace_id", "key_id", "created_at"),
        *("requested_model", "streamed", "endpoint"),
    }
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
BLANK: dict[str, object] = {
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
    "units": None,
    "tool_uses": None,
    "processors": None,
    "tool_runs": None,
    "streamed": False,
    "attempts": "[]",
    "dropped_params": "[]",
    "episode_id": None,
}
MICROS_PER_S = 1_000_000
ESCAPED_NUL = "\\u0000"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
Parts = tuple[Row, Row]

# What COMMON_COLUMNS are made of, without the process: records that agree in it share those.
alike = attrgetter(
    "identity.workspace_id",
    "identity.key_id",
    "identity.requested_model",
    "identity.streamed",
    "identity.endpoint",
    "identity.ip",
    "identity.profile",
    "served",
    "receipt.status",
    "receipt.charge_basis",
    "receipt.tools",
    "http_status",
    "error_code",
    "dropped_params",
)
_encode = msgspec.json.Encoder().encode
_usage = attrgetter(*USAGE)
_durations = attrgetter(*DURATIONS)
_common = itemgetter(*COMMON_COLUMNS)
_own = itemgetter(*OWN_COLUMNS)
_ending = itemgetter(*map(COLUMNS.index, (*ENDING_COLUMNS, "id")))


class Rows:
    """Turns one process's records into rows for the database in use.

    A row comes in two parts: the values of COMMON_COLUMNS and those of OWN_COLUMNS.
    """

    def __init__(self, process_id: str) -> None:
        self._id: Callable[[str], str | bytes] = raw_id if connection.vendor == "sqlite" else str
        self._moment = sqlite_moment if connection.vendor == "sqlite" else moment
        self._storable: Callable[[Row], Row] = tuple if connection.vendor == "sqlite" else storable
        self._process = self._id(process_id)

    def id_of(self, call_id: str) -> str | bytes:
        return self._id(call_id)

    def of_admitted(self, record: Admitted) -> Parts:
        """Return the row of a call that runs."""
        identity, price = record.identity, record.price
        return self._parts(
            record,
            status="in_progress",
            model=record.model[:200],
            streamed=identity.streamed,
            user=identity.user[:256],
            profile=identity.profile,
            episode_id=self._id(identity.episode_id) if identity.episode_id else None,
            input_pusd_per_token=price.input_pusd,
            cached_input_pusd_per_token=price.cached_input_pusd,
            output_pusd_per_token=price.output_pusd,
            hold_nusd=record.hold_nusd,
        )

    def of_refused(self, record: Refused) -> Parts:
        """Return the row of a call that was not let in, for INSERT_REFUSED."""
        common, own = self._parts(
            record,
            status="refused",
            http_status=record.http_status,
            error_code=record.error_code[:60],
            total_us=record.total_us,
        )
        return common, (*own, without_nul(record.refusal) or None)

    def common_of(self, record: Settled) -> Row:
        """Return the part of a call that has ended which others may share: see `alike`."""
        identity, served, receipt = record.identity, record.served, record.receipt
        price, dropped = served.price, record.dropped_params
        pages, page_nusd, tool_uses = _tools(receipt.tools)
        return (
            self._process,
            self._id(identity.workspace_id),
            self._id(identity.key_id),
            receipt.status,
            record.http_status,
            record.error_code[:60],
            receipt.charge_basis,
            served.model[:200],
            identity.requested_model[:256],
            served.provider[:60],
            served.native_model[:200],
            identity.streamed,
            identity.endpoint,
            served.finish_reason[:32],
            served.native_finish_reason[:32],
            identity.ip[:45],
            identity.profile,
            _as_json(dropped) if dropped else "[]",
            served.fallback_from[:200],
            served.fallback_depth,
            pages,
            page_nusd,
            tool_uses,
            price.input_pusd,
            price.cached_input_pusd,
            price.output_pusd,
        )

    def own_of(self, record: Settled) -> Row:
        """Return the part of a call that has ended which is its own."""
        receipt = record.receipt
        others = receipt.usage.others
        return (
            *self.plain_of(record),
            _units(others, record.served.price) if others else None,
            _as_json(receipt.processors) if receipt.processors else None,
            _as_json(receipt.tool_runs) if receipt.tool_runs else None,
        )

    def plain_of(self, record: Settled) -> Row:
        """Return the values of PLAIN_COLUMNS."""
        identity, receipt = record.identity, record.receipt
        return (
            self._id(identity.call_id),
            self._moment(identity.at),
            *_usage(receipt.usage),
            record.num_tool_calls,
            record.hold_nusd,
            record.paid_nusd,
            receipt.absorbed_nusd,
            *_durations(receipt),
            _as_json(record.attempts),
            identity.user[:256],
            identity.client_request_id[:128],
            self._id(identity.episode_id) if identity.episode_id else None,
        )

    def ending_of(self, record: Settled) -> Row:
        """Return the values of END_CALL."""
        return self._storable(_ending(self.common_of(record) + self.own_of(record)))

    def of_body(self, record: Settled) -> Row:
        """Return the row of what was said."""
        return self._storable(
            (
                self._id(record.call_id),
                self._id(record.workspace_id),
                self._moment(record.at),
                record.request_body,
                record.response_body,
            )
        )

    def _parts(self, record: Admitted | Refused, **known: object) -> Parts:
        values = BLANK | known
        identity = record.identity
        values["id"] = self._id(identity.call_id)
        values["process_id"] = self._process
        values["workspace_id"] = self._id(identity.workspace_id)
        values["key_id"] = self._id(identity.key_id)
        values["created_at"] = self._moment(identity.at)
        values["requested_model"] = identity.requested_model[:256]
        values["endpoint"] = identity.endpoint
        values["client_request_id"] = identity.client_request_id[:128]
        values["ip"] = identity.ip[:45]
        return _common(values), _own(values)


def is_plain(record: Settled) -> bool:
    """True for a call that has ended with nothing in the columns behind PLAIN_COLUMNS."""
    receipt = record.receipt
    return not (receipt.usage.others or receipt.processors or receipt.tool_runs)


def _as_json(value: object) -> str:
    text = _encode(value).decode()
    return without_nul(text) if ESCAPED_NUL in text else text


def without_nul(text: str) -> str:
    """Return JSON without NUL characters, which PostgreSQL's cannot have."""
    if ESCAPED_NUL not in text:
        return text
    # An escaped backslash before the letters makes them six letters of their own.
    return re.sub(r"(?<!\\)((?:\\\\)*)\\u0000", r"\1\\ufffd", text)


def _units(counts: Mapping[str, int], price: Price) -> str:
    """Return the counts of units without columns of their own, each with the price that applied."""
    return _as_json(
        {name: {"count": count, "pusd": price.of(name)} for name, count in counts.items()}
    )


def _tools(tools: tuple[ToolUse, ...]) -> tuple[int, int, str | None]:
    """Return how many pages of PDFs became images, what each of them costs, and other tools' uses
    as JSON."""
    pages = page_nusd = 0
    others = []
    for place, tool in enumerate(tools):
        # What was done before the call stands first: a plugin has the same name.
        if tool.name == PDF and not place:
            pages, page_nusd = tool.uses, tool.nusd_each
        else:
            others.append({"name": tool.name, "uses": tool.uses, "nusd_each": tool.nusd_each})
    return pages, page_nusd, _as_json(others) if others else None


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
    second, rest = divmod(round(at * MICROS_PER_S), MICROS_PER_S)  # micros, without the call
    text = _second_as_text(second)
    return f"{text}.{rest:06d}" if rest else text


@lru_cache(maxsize=64)
def _second_as_text(second: int) -> str:
    """Most calls of a batch share a handful of seconds."""
    return str((EPOCH + timedelta(seconds=second)).replace(tzinfo=None))


# What SQLite has of a UUID's text.
raw_id: Callable[[str], str] = methodcaller("replace", "-", "")
