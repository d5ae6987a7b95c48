"""The filters of the list of calls, as its URL spells them."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlencode

from dashboard.calls.status_text import STATUS_WORDS
from dashboard.http.query_params import read_id, read_id_place, read_number
from dashboard.ui.period_choice import Choice, PeriodChoice, choose_period
from gateway.models.batch import read_batch_id
from gateway.selectors.call_filters import FAILED, CallFilters
from gateway.selectors.periods import NAMED_PERIODS

ANY_TIME = "all"
DEFAULT_PERIOD = "7d"
MAX_MIN_MS = 86_400_000
_YES_NO = {"yes": True, "no": False}
_TIME_NAMES = ("period", "from", "to")
_DURATIONS = (
    ("", "Any duration"),
    ("1000", "At least 1 s"),
    ("5000", "At least 5 s"),
    ("30000", "At least 30 s"),
    ("120000", "At least 2 min"),
)


@dataclass(frozen=True, slots=True)
class CallQuery:
    """What the URL asks for. values: the parameters that narrow, cleaned, in a fixed order."""

    values: Mapping[str, str]
    filters: CallFilters
    period: PeriodChoice | None
    before: uuid.UUID | None
    after: uuid.UUID | None

    @property
    def query(self) -> str:
        """The filters as a query string, without the place in the list."""
        return urlencode(self.values)

    @property
    def narrows(self) -> bool:
        """True when anything but the period narrows the list."""
        return bool(self.without_period)

    @property
    def without_period(self) -> dict[str, str]:
        """The parameters that narrow by anything but time."""
        return {name: value for name, value in self.values.items() if name not in _TIME_NAMES}

    @property
    def error(self) -> str:
        """Why the dates asked for are refused, "" where they are not."""
        return self.period.error if self.period else ""

    @property
    def min_ms(self) -> str:
        return self.values.get("min_ms", "")

    @property
    def choices(self) -> list[Choice]:
        """The named periods, any time, and the dates in use if the URL gives some."""
        named = list(self.period.choices) if self.period else _named_choices()
        choices = [*named, Choice(ANY_TIME, "Any time", "Any time", self.period is None)]
        if self.period and self.period.is_custom:
            words = self.period.words
            choices.append(Choice("custom", words, words, True))
        return choices

    @property
    def status_choices(self) -> list[tuple[str, str]]:
        words = [(status, words.label) for status, words in STATUS_WORDS.items()]
        return [("", "Any status"), (FAILED, "All errors"), *words]

    @property
    def duration_choices(self) -> list[tuple[str, str]]:
        """The durations to pick from, and the URL's own if it is another one."""
        known = dict(_DURATIONS)
        if self.min_ms not in known:
            known[self.min_ms] = f"At least {int(self.min_ms):,} ms"
        return list(known.items())

    def page_query(self, before: uuid.UUID | None = None, after: uuid.UUID | None = None) -> str:
        """Return the query string of another page of the same list."""
        place = {"before": before, "after": after}
        return urlencode({**self.values, **{k: str(v) for k, v in place.items() if v}})


def read_call_query(query: Mapping[str, str], *, now: datetime) -> CallQuery:
    """Return the filters that a query string means; what cannot be read does not narrow.

    Raises UnknownPlace for a page of the list that is none.
    """
    values: dict[str, str] = {}
    period = _read_period(query, values, now)
    status = query.get("status", "")
    if status in STATUS_WORDS or status == FAILED:
        values["status"] = status
    for name, width in (("model", 256), ("provider", 60), ("error", 60)):
        if text := query.get(name, "").strip()[:width]:
            values[name] = text
    key_id = read_id(query.get("key", ""))
    if key_id is not None:
        values["key"] = str(key_id)
    if read_batch_id(query.get("batch", "")) is not None:
        values["batch"] = query["batch"]
    for name in ("streamed", "fallback"):
        if query.get(name) in _YES_NO:
            values[name] = query[name]
    min_ms = min(read_number(query, "min_ms") or 0, MAX_MIN_MS)
    if min_ms:
        values["min_ms"] = str(min_ms)
    filters = CallFilters(
        status=values.get("status", ""),
        model=values.get("model", ""),
        provider=values.get("provider", ""),
        key_id=key_id,
        streamed=_YES_NO.get(values.get("streamed", "")),
        fell_back=_YES_NO.get(values.get("fallback", "")),
        error_code=values.get("error", ""),
        batch=values.get("batch", ""),
        min_total_us=min_ms * 1_000,
        starts_at=period.period.starts_at if period else None,
        ends_at=period.period.ends_at if period and period.is_custom else None,
    )
    before, after = read_id_place(query, "before"), read_id_place(query, "after")
    return CallQuery(values, filters, period, before, None if before else after)


def _named_choices() -> list[Choice]:
    return [Choice(name, label, label, False) for name, (label, _, _) in NAMED_PERIODS.items()]


def _read_period(
    query: Mapping[str, str], values: dict[str, str], now: datetime
) -> PeriodChoice | None:
    if query.get("period") == ANY_TIME:
        values["period"] = ANY_TIME
        return None
    given = query if query.get("period") or query.get("from") else {"period": DEFAULT_PERIOD}
    period = choose_period(given, now=now)
    if period.is_custom or period.error:
        values["from"], values["to"] = period.starts_input, period.ends_input
    else:
        values["period"] = period.period.name
    return period
