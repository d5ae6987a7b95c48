"""The rules that a call comes under, what it wants of each, and why one refuses it.

What is counted for a rule stands behind gateway.admission.rule_counters; this says how much a call
is. Tokens and cost are reserved at the most that the call may use, and corrected when it is known
what it has used.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from math import ceil
from operator import attrgetter
from typing import TypeVar

from msgspec import Struct

from gateway.admission.counter_protocols import ConcurrencyCounter, Correction, Counters
from gateway.admission.current_part import CurrentPart
from gateway.admission.limit_windows import US_PER_S
from gateway.admission.limiter_state import Places
from gateway.admission.rule_counters import RuleCounter, counter_id, counts_alike, limit_of
from gateway.core.cost_bound import CostBound
from gateway.core.errors import GatewayError, LimitExceeded, RateLimited
from gateway.core.money import format_usd
from gateway.core.receipt import Receipt
from gateway.snapshot.types import LimitRule

NUSD_PER_MICRO_USD = 1_000
LOOKED_AT = 64
MAX_PLANS = 20_000
OUTER = ("installation", "model")
Rules = tuple[LimitRule, ...]
T = TypeVar("T")
CONCURRENT = "concurrent_requests"
COST = "cost_micro_usd"
# Levels as callers are told of them (gateway contract, 7.5.3), and who is limited there.
LEVELS = {
    "installation": ("service", "The installation"),
    "model": ("model", "The model"),
    "workspace": ("organisation", "The workspace"),
    "member": ("user", "The owner of the API key"),
    "key": ("token", "The API key"),
}
NOUNS = {
    "requests": "requests",
    "tokens": "tokens",
    "prompt_tokens": "prompt tokens",
    "completion_tokens": "completion tokens",
}


class AboveLimit(LimitExceeded):
    """The call may use more than the limit allows in its whole period: waiting does not help."""

    should_retry = False


class Amounts(Struct, frozen=True, gc=False):
    """What a call may use at most, or has used."""

    requests: int
    prompt_tokens: int
    completion_tokens: int
    cost_nusd: int

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens

    def of(self, metric: str) -> int:
        return AMOUNT_OF[metric](self)


# The field of Amounts that a metric is.
FIELD_OF = {metric: metric for metric in NOUNS} | {COST: "cost_nusd"}
AMOUNT_OF: dict[str, Callable[[Amounts], int]] = {
    metric: attrgetter(field) for metric, field in FIELD_OF.items()
}
NOTHING = Amounts(0, 0, 0, 0)
REQUEST = Amounts(1, 0, 0, 0)


def used_by(receipt: Receipt) -> Amounts:
    """Return what a call has used. One that is not charged has used nothing but the request."""
    if receipt.charge_basis.startswith("zero"):
        return REQUEST
    usage = receipt.usage
    return Amounts(1, usage.prompt_tokens, usage.completion_tokens, receipt.charge_nusd)


class RuleState:
    """One rule, and what is counted for it. counter: None for a limit on concurrent requests, which
    has concurrency."""

    __slots__ = ("amount_of", "concurrency", "counter", "current", "level", "rule")

    def __init__(
        self, rule: LimitRule, counter: RuleCounter | None, concurrency: ConcurrencyCounter | None
    ) -> None:
        self.rule = rule
        # How much of it a call is; for limits on concurrent requests it is not asked.
        self.amount_of = AMOUNT_OF.get(rule.metric, AMOUNT_OF["requests"])
        self.level = LEVELS[rule.level][0]
        self.counter = counter
        self.current = CurrentPart(limit_of(rule)) if counter is None else counter.current
        self.concurrency = concurrency

    @property
    def holder(self) -> str:
        return holder_of(self.rule)

    @property
    def limit(self) -> int:
        """How much may be used at once."""
        return self.current.limit

    @property
    def rule_id(self) -> str:
        return self.rule.rule_id

    def change(self, rule: LimitRule) -> None:
        """Apply what the rule says now; what was counted stays counted."""
        self.rule = rule
        if self.counter is not None:
            self.counter.change(limit_of(rule), rule.maximum)
        if self.concurrency is not None and self.concurrency.limit != rule.maximum:
            self.concurrency.resize(rule.maximum)

    def counts(self, model: str) -> bool:
        """True when calls to the model are counted."""
        return is_for_model(self.rule, model)

    def is_idle(self, now_us: int) -> bool:
        """True when forgetting the state forgets nothing."""
        if self.concurrency is not None:
            return self.concurrency.is_idle
        return self.counter is None or not self.counter.empty_in_us(now_us)


class Reservation(Struct, eq=False, gc=False):
    """What one call has reserved of one rule (gateway.admission.counter_protocols.Reserved)."""

    state: RuleState
    counter: RuleCounter
    amount: int
    at_us: int = 0
    weight: int = 1

    def fits(self, now_us: int) -> bool:
        return self.counter.used(now_us) + self.amount <= self.state.limit

    def try_take(self, now_us: int) -> bool:
        """Count the amount if it fits."""
        if not self.counter.add(self.amount, now_us, self.state.limit):
            return False
        self.at_us = now_us
        return True

    def refusal(self, model: str, now_us: int) -> GatewayError:
        """Return why the amount does not fit now."""
        rule, used = self.state.rule, self.counter.used(now_us)
        details = rule_details(rule, used, self.amount, model)
        said = f"{self.state.holder} is limited to {describe(rule)}"
        if rule.metric == "requests":
            wait_s = self.counter.wait_us(1, now_us) / US_PER_S
            return RateLimited(f"{said}.", details=details, retry_after_s=wait_s)
        wants = f"this call may use up to {show(rule.metric, self.amount)}"
        if self.amount > self.state.limit:
            return AboveLimit(f"{said}, and {wants}. Lower max_tokens.", details=details)
        wait_s = self.counter.wait_us(self.amount, now_us) / US_PER_S
        return LimitExceeded(
            f"{said}. {show(rule.metric, used)} are used or reserved, and {wants}.",
            details=details,
            retry_after_s=wait_s,
        )


async def reserve_all(counters: Counters, wanted: Sequence[Reservation]) -> bool:
    """Count all of them if they fit, or none."""
    if counters.levels is not None:
        entry = await counters.levels.enter(wanted, ())
        return entry.refused is None
    now_us = counters.now_us()
    for number, one in enumerate(wanted):
        if not one.try_take(now_us):
            counters.correct([(taken, -taken.amount) for taken in wanted[:number]])
            return False
    return True


def corrections_of(
    reserved: Sequence[Reservation], used: Amounts, *, has_grown: bool
) -> list[Correction]:
    """Return what was not used of what a call has reserved, or was used beyond it.

    has_grown: a rule may have been reserved more than once. What was reserved first is used first.
    """
    if not has_grown:
        return [
            (one, delta) for one in reserved if (delta := one.state.amount_of(used) - one.amount)
        ]
    newest = {one.state: one for one in reserved}
    left = {state: state.amount_of(used) for state in newest}
    corrections: list[Correction] = []
    for one in reserved:
        state = one.state
        amount = left[state] if newest[state] is one else min(left[state], one.amount)
        left[state] -= amount
        if amount != one.amount:
            corrections.append((one, amount - one.amount))
    return corrections


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Plan:
    """What calls under the same rules come under, in the order in which it refuses."""

    rules: tuple[Rules, Rules]
    outer: list[RuleState]
    of_workspace: list[RuleState]
    of_key: list[RuleState]
    # Those that count, and what they count at present; how much of each a call is, in their order;
    # and those that the heads of answers tell of.
    counting: list[tuple[RuleState, RuleCounter]]
    counted: list[tuple[CurrentPart, RuleCounter]]
    find_amounts: Callable[[Amounts], tuple[int, ...]]
    requests: list[tuple[RuleState, RuleCounter]]
    tokens: list[tuple[RuleState, RuleCounter]]
    # Those that limit concurrent requests.
    slots: list[Places]
    # No rule is only for some models.
    is_for_all: bool

    def around(self, workspace: T, own: T) -> list[RuleState | T]:
        """Return them with what else limits a workspace and a key before their rules."""
        return [*self.outer, workspace, *self.of_workspace, own, *self.of_key]

    def every(self) -> list[RuleState]:
        return [*self.outer, *self.of_workspace, *self.of_key]

    def for_model(self, model: str) -> Plan:
        """Return those that count calls to a model; the same where is_for_all."""
        if self.is_for_all:
            return self
        return self._only(lambda state: state.counts(model))

    def for_any_model(self) -> Plan:
        """Return those that count calls to every model."""
        return self if self.is_for_all else self._only(lambda state: state.rule.models is None)

    def _only(self, is_wanted: Callable[[RuleState], bool]) -> Plan:
        return make_plan(self.rules, [state for state in self.every() if is_wanted(state)])


def make_plan(rules: tuple[Rules, Rules], states: Sequence[RuleState]) -> Plan:
    outer = [state for state in states if state.rule.level in OUTER]
    of_workspace = [state for state in states if state.rule.level in ("workspace", "member")]
    of_key = [state for state in states if state.rule.level == "key"]
    ordered = [*outer, *of_workspace, *of_key]
    counting = [(state, state.counter) for state in ordered if state.counter is not None]
    return Plan(
        rules=rules,
        outer=outer,
        of_workspace=of_workspace,
        of_key=of_key,
        counting=counting,
        counted=[(state.current, counter) for state, counter in counting],
        find_amounts=amounts_getter([state.rule.metric for state, _ in counting]),
        requests=[pair for pair in counting if pair[0].rule.metric == "requests"],
        tokens=[pair for pair in counting if pair[0].rule.metric == "tokens"],
        slots=[
            Places(state, state.concurrency) for state in ordered if state.concurrency is not None
        ],
        is_for_all=all(state.rule.models is None for state in states),
    )


def amounts_getter(metrics: Sequence[str]) -> Callable[[Amounts], tuple[int, ...]]:
    """Return what finds at once how much of each metric a call is. Two more numbers follow them."""
    # attrgetter() returns a tuple only for several names.
    found = attrgetter(*[FIELD_OF[metric] for metric in metrics], "requests", "requests")
    return found


class RuleStates:
    """The states of one process, by rule and for whom it counts."""

    def __init__(self, counters: Counters, max_kept: int) -> None:
        self._counters = counters
        self._max_kept = max_kept
        self._states: dict[str, RuleState] = {}
        # By the identities of the rules, which each plan keeps.
        self._plans: dict[tuple[int, int], Plan] = {}

    def plan(self, outer: Rules, own: Rules) -> Plan:
        """Return what calls come under, which follows the rules from now on. outer: of the
        installation and the model. own: of the workspace, the member and the key."""
        name = (id(outer), id(own))
        plan = self._plans.get(name)
        if plan is None:
            if len(self._plans) >= MAX_PLANS:
                self._plans.clear()
            plan = self._plans[name] = self._make_plan(outer, own)
        return plan

    def now_us(self) -> int:
        return self._counters.now_us()

    def reject_waiting(self, make_reason: Callable[[], Exception]) -> None:
        """Fail every call in a queue."""
        for state in self._states.values():
            if state.concurrency is not None:
                state.concurrency.reject_waiting(make_reason)

    def _make_plan(self, outer: Rules, own: Rules) -> Plan:
        counting = [rule for rule in (*outer, *own) if not rule.per_request]
        return make_plan((outer, own), [self._follow(rule) for rule in counting])

    def _follow(self, rule: LimitRule) -> RuleState:
        name = counter_id(rule)
        state = self._states.get(name)
        if state is not None:
            if counts_alike(state.rule, rule):
                state.change(rule)
                return state
        elif len(self._states) >= self._max_kept:
            self._forget_one()
        state = self._states[name] = self._make(rule)
        return state

    def _make(self, rule: LimitRule) -> RuleState:
        if rule.metric != CONCURRENT:
            return RuleState(rule, self._counters.rule(rule), None)
        name = counter_id(rule)
        concurrency = self._counters.concurrency(name, rule.maximum, workspace_id="rules")
        return RuleState(rule, None, concurrency)

    def _forget_one(self) -> None:
        now_us = self.now_us()
        for name in list(islice(self._states, LOOKED_AT)):
            if self._states[name].is_idle(now_us):
                del self._states[name]
                self._plans.clear()
                return


def is_for_model(rule: LimitRule, model: str) -> bool:
    """True when calls to the model come under the rule."""
    return rule.models is None or rule.models.match(model)


def amounts_of(bound: CostBound, tokens: int, hold_nusd: int) -> Amounts:
    """Return what a call may use at most. tokens: of output, of each answer."""
    return Amounts(1, bound.prompt_tokens, tokens * bound.n, hold_nusd)


def holder_of(rule: LimitRule) -> str:
    return LEVELS[rule.level][1]


def describe(rule: LimitRule) -> str:
    """Return the limit in words, as in: 100 requests per minute."""
    burst = f", burst {show(rule.metric, rule.burst)}" if rule.burst else ""
    return f"{show(rule.metric, rule.maximum)} per {rule.period}{burst}"


def show(metric: str, amount: int) -> str:
    if metric == COST:
        return f"{format_usd(amount)} USD"
    return f"{amount:,} {NOUNS[metric]}"


def rule_details(rule: LimitRule, used: int, requested: int, model: str) -> dict[str, object]:
    """Return which rule refuses a call, as details of the error (gateway contract, 7.5.3)."""
    unit = NUSD_PER_MICRO_USD if rule.metric == COST else 1
    return {
        "model_id": model,
        "level": LEVELS[rule.level][0],
        "rule_id": rule.rule_id,
        "limit": {
            "metric": rule.metric,
            "period": rule.period or None,
            "max": rule.maximum // unit,
            "per_request": rule.per_request,
        },
        "current": ceil(used / unit),
        "requested": ceil(requested / unit),
    }
