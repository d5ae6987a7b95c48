"""How much of each limit is used at this moment, for the checks that a call passes."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from sys import maxsize

from gateway.admission.counter_protocols import SpendingCounter
from gateway.admission.limit_rules import Reservation, is_for_model, rule_details
from gateway.admission.limited_call import LimitedCall, Outlook, Rate
from gateway.admission.limiter_state import Places, limit_details
from gateway.admission.memory_spending import MemorySpendings
from gateway.admission.spending import micro_usd
from gateway.core.spent import Spent
from gateway.snapshot.types import SpendingLimits

Standing = dict[str, object]


def standing_of(metric: str, most: int | None = None, *, requested: int | None = None) -> Standing:
    """Return where a call stands under what is no limit of a key: its balance, its model."""
    return {
        "level": "organisation" if metric == "cost_micro_usd" else "model",
        "limit": {"metric": metric, "period": None, "max": most, "per_request": True},
        "current": None,
        "requested": requested,
    }


def standings(outlook: Outlook) -> dict[str, list[Standing]]:
    """Return where a call stands under each limit, by step of admission, in the order in which they
    refuse."""
    now_ns = time.monotonic_ns()
    counted, slots = [], []
    for index, item in enumerate(outlook.wanted.counted):
        shown = _counted(item, outlook, now_ns)
        counted.append(shown | {"result": _result(outlook, index)})
    first = len(counted)
    for index, place in enumerate(outlook.wanted.slots):
        if place.counter.limit != maxsize:
            shown = _concurrent(place, outlook.model)
            has_slot = outlook.entry.has_slot[index]
            slots.append(shown | {"result": _result(outlook, first + index, has_slot=has_slot)})
    return {"limits": counted, "concurrency": slots}


def cap_standings(call: LimitedCall) -> list[Standing]:
    """Return the caps on a single request, under which the call stays."""
    return [
        rule_details(rule, 0, call.amounts.of(rule.metric), call.model)
        for rule in (*call.rules, *call.key.rules)
        if rule.per_request and is_for_model(rule, call.model)
    ]


def budget_standings(
    budgets: Sequence[SpendingLimits], spending: SpendingCounter, want_nusd: int
) -> Iterator[Standing]:
    """Yield the budgets. What other processes have spent of them is not known here."""
    now = time.time()
    for limits in budgets:
        own = spending.of(limits.owner.id) if isinstance(spending, MemorySpendings) else None
        is_known = own is not None and own.is_read
        spent = own.spent(now) if own is not None and is_known else Spent()
        held_nusd = 0 if own is None else own.held_nusd
        for period, limit_nusd, spent_nusd in limits.by_period(spent, now):
            if limit_nusd is None:
                continue
            yield {
                "level": limits.owner.level.value,
                "limit": {
                    "metric": "cost_micro_usd",
                    "period": period,
                    "max": micro_usd(limit_nusd),
                    "per_request": False,
                },
                "current": micro_usd(spent_nusd + held_nusd) if is_known else None,
                "requested": micro_usd(want_nusd),
            }


def _counted(item: Rate | Reservation, outlook: Outlook, now_ns: int) -> Standing:
    if isinstance(item, Reservation):
        used, rule = item.counter.used(outlook.now_us), item.state.rule
        burst = {"burst": rule.burst} if rule.burst else {}
        return rule_details(rule, used, item.amount, outlook.model) | burst
    rate = item.counter
    used = rate.burst - rate.remaining(now_ns)
    shown = limit_details(item.holder, "requests", "minute", rate.per_minute, used, outlook.model)
    return shown | {"burst": rate.burst}


def _concurrent(place: Places, model: str) -> Standing:
    limiter = place.counter
    return limit_details(
        place.holder, "concurrent_requests", None, limiter.limit, limiter.in_use, model
    )


def _result(outlook: Outlook, index: int, *, has_slot: bool | None = None) -> str:
    """Return what one limit says. Slots are asked for from the last to the first."""
    refused, counts = outlook.entry.refused, len(outlook.wanted.counted)
    if index == refused:
        return "refused"
    if refused is None:
        return "waits" if has_slot is False else "passed"
    is_before = index < refused
    if index >= counts and refused >= counts:
        is_before = index > refused
    return "passed" if is_before else "not_reached"
