"""What a prompt template can say, and filling it in without any logic.

A name in double braces is replaced once: what came in by a name is never looked at again, and a
name that nobody knows stays as it was typed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import datetime
from typing import NotRequired, TypedDict

from gateway.core.json_types import JsonValue

Values = Mapping[str, str | int]
# The variable whose members are those of the data that a call attaches (gateway.processors).
HAYSTACK = "haystack"


class WorkerRequest(TypedDict):
    """A line to the sandbox worker: compile a template, and with values render it."""

    text: str
    values: NotRequired[Mapping[str, JsonValue]]


class WorkerAnswer(TypedDict, total=False):
    """A line of the sandbox worker: the names or the output, or the error and its line."""

    names: list[str]
    output: str
    error: str
    line: int | None


# How often they change. What providers keep of a prompt, they keep by its beginning.
DAILY = (
    *("now_date", "now_day_of_week", "now_year", "now_month", "now_month_name", "now_day"),
    *("now_quarter", "now_week", "org_name", "model_id", "language"),
)
HOURLY = ("now_hour",)
VOLATILE = ("now_time", "now_datetime", "now_iso", "now_unix", "request_id")
KNOWN = frozenset((*DAILY, *HOURLY, *VOLATILE))

# Possessive throughout: callers write these texts, and no attempt is made twice.
PLACEHOLDER = re.compile(r"\{\{[ \t]*+([A-Za-z_]\w*+(?:\.\w++)*+)[ \t]*+\}\}", re.ASCII)
# In one text or the messages of one call: each is a call of a function of ours, on the loop. No
# default prompt is long enough to have as many (gateway.services.prompt_templates).
MAX_PLACEHOLDERS = 10_000


class TooManyPlaceholders(Exception):
    """A call has more than MAX_PLACEHOLDERS."""


def values_at(
    now: datetime, *, org_name: str, model_id: str, request_id: str, language: str | None
) -> dict[str, str | int]:
    """Return every variable that has a value. now: in the zone that the values are of."""
    values: dict[str, str | int] = {
        "now_date": f"{now:%Y-%m-%d}",
        "now_day_of_week": f"{now:%A}",
        "now_year": now.year,
        "now_month": now.month,
        "now_month_name": f"{now:%B}",
        "now_day": now.day,
        "now_quarter": (now.month + 2) // 3,
        "now_week": now.isocalendar().week,
        "now_hour": now.hour,
        "now_time": f"{now:%H:%M:%S}",
        "now_datetime": f"{now:%Y-%m-%d %H:%M:%S}",
        "now_iso": now.isoformat(timespec="seconds"),
        "now_unix": int(now.timestamp()),
        "org_name": org_name,
        "model_id": model_id,
        "request_id": request_id,
    }
    if language:
        values["language"] = language
    return values


def names_in(text: str) -> set[str]:
    """Return the names in double braces, known or not."""
    return set(PLACEHOLDER.findall(text))


class Filling:
    """The values of one call, with a count of what was asked for them."""

    __slots__ = ("_haystack", "_left", "_values")

    def __init__(self, values: Values, haystack: JsonValue = None) -> None:
        self._values = values
        self._haystack = haystack
        self._left = MAX_PLACEHOLDERS

    def fill(self, text: str) -> str:
        """Return the text with the values of the names it has. Raises TooManyPlaceholders."""
        if "{{" not in text:
            return text
        filled, found = PLACEHOLDER.subn(self._value_of, text, count=self._left + 1)
        if found > self._left:
            raise TooManyPlaceholders
        self._left -= found
        return filled

    def _value_of(self, found: re.Match[str]) -> str:
        value = self._values.get(found[1])
        if value is None and self._haystack is not None:
            return self._find(found[1].split(".")) or found[0]
        return found[0] if value is None else str(value)

    def _find(self, path: list[str]) -> str | None:
        """Return what the data of the call has at a path; None for nothing."""
        if path.pop(0) != HAYSTACK:
            return None
        value = self._haystack
        for name in path:
            if isinstance(value, dict):
                value = value.get(name)
            elif isinstance(value, list) and name.isdecimal() and int(name) < len(value):
                value = value[int(name)]
            else:
                return None
        if value is None or isinstance(value, str):
            return value
        return json.dumps(value, ensure_ascii=False)
