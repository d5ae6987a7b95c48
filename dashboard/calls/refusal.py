"""Which check refused a call, and its numbers, for the call's page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from django.utils.dateparse import parse_datetime

from dashboard.templatetags.money import count, usd
from gateway.core.admission_steps import STEPS
from gateway.models import CallRecord

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
NAMED = {
    "required_scope": "Required scope",
    "required_permission": "Required permission",
    "country": "Country",
    "rule_id": "Rule",
}
NUSD_PER_MICRO_USD = 1_000


@dataclass(frozen=True, slots=True)
class Fact:
    label: str
    text: str


@dataclass(frozen=True, slots=True)
class Refusal:
    """check: what refused the call."""

    check: str
    facts: Sequence[Fact]


def refusal_of(call: CallRecord) -> Refusal | None:
    """Return why the call was refused; None where the record does not say it."""
    said = call.refusal
    if not isinstance(said, dict):
        return None
    check = STEPS.get(str(said.get("step")))
    return None if check is None else Refusal(check, list(_facts(said)))


def _facts(said: Mapping[str, object]) -> Iterator[Fact]:
    limit = said.get("limit")
    if isinstance(limit, dict):
        yield from _limit_facts(said, limit)
    for name, label in NAMED.items():
        if said.get(name):
            yield Fact(label, str(said[name]))
    moment = parse_datetime(str(said.get("resets_at", "")))
    if moment is not None:
        yield Fact("Resets at", f"{moment:%Y-%m-%d %H:%M} UTC")


def _limit_facts(said: Mapping[str, object], limit: Mapping[str, object]) -> Iterator[Fact]:
    metric, period = str(limit.get("metric", "")), limit.get("period")
    yield Fact("Limit of", LEVELS.get(str(said.get("level")), str(said.get("level", ""))))
    most = _amount(metric, limit.get("max"))
    if most:
        yield Fact("Limit", f"{most} per {period}" if period not in (None, "", "total") else most)
    for label, name in (("Used", "current"), ("Requested", "requested")):
        if said.get(name) is not None:
            yield Fact(label, _amount(metric, said[name]))


def _amount(metric: str, value: object) -> str:
    if not isinstance(value, int):
        return ""
    if metric == "cost_micro_usd":
        return usd(value * NUSD_PER_MICRO_USD)
    return f"{count(value)} {METRICS.get(metric, metric)}"
