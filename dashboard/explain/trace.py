"""The checks of a call's admission in their order, each with what it came to: of a call that was
refused, from its record, and of one that is explained, from the explanation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from django.utils.dateparse import parse_datetime

from dashboard.templatetags.money import count, usd
from gateway.core.admission_steps import STEPS, step_result
from gateway.core.json_types import JsonObject

# As callers are told of them (gateway.admission.limit_rules).
LEVELS = {
    "token": "API key",
    "user": "Member",
    "organisation": "Workspace",
    "model": "Model",
    "service": "Installation",
}
METRICS = {
    "requests": "requests",
    "tokens": "tokens",
    "prompt_tokens": "prompt tokens",
    "completion_tokens": "completion tokens",
    "context_tokens": "tokens",
    "concurrent_requests": "concurrent requests",
}
COST = "cost_micro_usd"
NUSD_PER_MICRO_USD = 1_000
NAMED = {
    "param": "Field (param)",
    "required_scope": "Required scope",
    "required_permission": "Required permission",
    "country": "Country",
    "rule_id": "Limit ID",
    "processor": "Processor",
    "reason": "Reason",
    "entity_types": "Types found",
    "rule_ids": "Rules",
}


@dataclass(frozen=True, slots=True)
class ResultWords:
    label: str
    icon: str


RESULTS = {
    "passed": ResultWords("Passed", "circle-check"),
    "waits": ResultWords("Waits", "clock"),
    "refused": ResultWords("Refused", "circle-x"),
    "skipped": ResultWords("Not checked", "circle-minus"),
    "not_reached": ResultWords("Not reached", "circle-dashed"),
}


@dataclass(frozen=True, slots=True)
class Fact:
    label: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitLine:
    """A limit that a check looked at. words: empty where its maximum is not known. result: what it
    came to, where that is not what the check came to for all its limits: a name in RESULTS."""

    holder: str
    words: str
    used: str = ""
    requested: str = ""
    result: str = ""

    @property
    def limit(self) -> str:
        return f"{self.holder}: {self.words}" if self.words else self.holder

    @property
    def numbers(self) -> str:
        """All that is known besides, in a line."""
        parts = {"used": self.used, "requested": self.requested}
        said = [f"{number} {word}" for word, number in parts.items() if number]
        return " · ".join([*said, *([RESULTS[self.result].label] if self.result else [])])


@dataclass(frozen=True, slots=True)
class StepLine:
    """A check. result: a name in RESULTS. facts: what else is known of why it refuses."""

    title: str
    result: str
    limits: Sequence[LimitLine] = ()
    facts: Sequence[Fact] = ()

    @property
    def words(self) -> ResultWords:
        return RESULTS[self.result]


def recorded_trace(refusal: object) -> list[StepLine]:
    """Return the checks of a call that was refused; empty where its record does not say which.

    refusal: of the record.
    """
    if not isinstance(refusal, dict) or str(refusal.get("step")) not in STEPS:
        return []
    refusing, last_passed = str(refusal["step"]), str(refusal.get("last_passed", ""))
    limit = refusal.get("limit")
    limits = [limit_line({**limit, **refusal})] if isinstance(limit, dict) else []
    lines = []
    for step, title in STEPS.items():
        result = step_result(step, refusing, last_passed if last_passed in STEPS else "")
        is_refusing = result == "refused"
        facts = list(facts_of(refusal)) if is_refusing else ()
        lines.append(StepLine(title, result, limits if is_refusing else (), facts))
    return lines


def explained_trace(explanation: JsonObject) -> list[StepLine]:
    """Return the checks of a call that was explained (gateway.api.schemas.explanation)."""
    error = explanation["error"] or {"details": {}}
    return [
        StepLine(
            step["title"],
            step["result"],
            list(_limit_lines(step)),
            list(facts_of(error["details"])) if step["result"] == "refused" else (),
        )
        for step in explanation["steps"]
    ]


def _limit_lines(step: JsonObject) -> Iterator[LimitLine]:
    limits = step["limits"]
    says_each = len(limits) > 1 and step["result"] != "passed"
    for limit in limits:
        yield limit_line(limit if says_each else limit | {"result": ""})


def limit_line(said: Mapping[str, object]) -> LimitLine:
    """said: the level, metric, period, max, current and requested of a limit."""
    metric, result = str(said.get("metric", "")), str(said.get("result") or "")
    level = str(said.get("level") or "")
    # Of a single request nothing is used before.
    is_counted = said.get("period") or metric == "concurrent_requests"
    return LimitLine(
        holder=LEVELS.get(level, level),
        words=_limit_words(metric, said),
        used=_number(metric, said.get("current")) if is_counted else "",
        requested=_number(metric, said.get("requested")),
        result=result if result in RESULTS else "",
    )


def facts_of(said: Mapping[str, object]) -> Iterator[Fact]:
    """said: the details of an error, or what is kept of them."""
    for name, label in NAMED.items():
        if said.get(name):
            one = said[name]
            yield Fact(label, ", ".join(map(str, one)) if isinstance(one, list) else str(one))
    try:
        moment = parse_datetime(str(said.get("resets_at", "")))
    except ValueError:  # well-formed, and no date of any calendar
        moment = None
    if moment is not None:
        yield Fact("Resets at", f"{moment:%Y-%m-%d %H:%M} UTC")


def _limit_words(metric: str, said: Mapping[str, object]) -> str:
    most, period, size = said.get("max"), said.get("period"), said.get("burst")
    if not isinstance(most, int):
        return ""
    unit = METRICS.get(metric, metric)
    words = _number(metric, most)
    if metric != COST:
        words += f" {unit.removesuffix('s') if most == 1 else unit}"
    if period == "total":
        return f"{words} in total"
    burst = f", burst {count(size)}" if isinstance(size, int) else ""
    return f"{words} per {period}{burst}" if period else f"{words}{burst}"


def _number(metric: str, value: object) -> str:
    if not isinstance(value, int):
        return ""
    return usd(value * NUSD_PER_MICRO_USD) if metric == COST else count(value)
