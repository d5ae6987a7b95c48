"""What a backtest has found, by rule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from uuid import UUID

from gateway.backtest.past_calls import moment_at
from gateway.backtest.replay import Refusal
from keys.models import ApiKey, LimitRule

# Keys that are shown of a rule, and that are counted until the rarest are forgotten.
SHOWN_KEYS = 5
COUNTED_KEYS = 10_000
MAX_LISTED = 100_000


class RuleFindings:
    """Refused calls of one rule. first, last: when the calls were made."""

    def __init__(self, rule: LimitRule) -> None:
        self.rule = rule
        self.refused = 0
        self.first: datetime | None = None
        self.last: datetime | None = None
        self._by_key: Counter[str] = Counter()

    def add(self, refusal: Refusal) -> None:
        moment = moment_at(refusal.call.at_us)
        self.refused += refusal.times
        self.first = min(self.first or moment, moment)
        self.last = max(self.last or moment, moment)
        self._by_key[refusal.call.key.key_id] += refusal.times
        if len(self._by_key) > 2 * COUNTED_KEYS:
            self._by_key = Counter(dict(self._by_key.most_common(COUNTED_KEYS)))

    def most_hit(self) -> list[tuple[str, int]]:
        """Return the keys with the most refused calls, and how many."""
        return self._by_key.most_common(SHOWN_KEYS)


class Findings:
    """since: when the period began. listed: the ids of refused calls with their rules, MAX_LISTED
    at most; None: they are not listed."""

    def __init__(self, rules: Iterable[LimitRule], *, since: datetime, lists: bool) -> None:
        self.since = since
        self.by_rule = {str(rule.pk): RuleFindings(rule) for rule in rules}
        # Those in the scope that were replayed.
        self.calls = 0
        self.refused = 0
        # Those in the scope that were refused for something else, and were not replayed.
        self.refused_otherwise = 0
        # Those that waited for a slot and were admitted, and the longest wait.
        self.queued = 0
        self.longest_us = 0
        self.listed: list[tuple[UUID, str]] | None = [] if lists else None

    def add(self, refusal: Refusal) -> None:
        self.refused += refusal.times
        self.by_rule[refusal.rule_id].add(refusal)
        if self.listed is not None and len(self.listed) < MAX_LISTED:
            self.listed.append((refusal.call.call_id, refusal.rule_id))

    def labels(self) -> Mapping[str, str]:
        """Return what the keys that are shown are called, by their ids. One query."""
        shown = {key for found in self.by_rule.values() for key, _ in found.most_hit()}
        keys = ApiKey.objects.filter(pk__in=shown)
        return {str(key.pk): str(key) for key in keys}

    def share(self, refused: int) -> float:
        return refused / self.calls if self.calls else 0.0


def assumptions(rules: Sequence[LimitRule]) -> list[str]:
    """Return what a backtest takes for granted, in sentences."""
    found = [
        "Counters start at 0 when the period begins; earlier calls are not counted.",
        "A refused call takes nothing, and its caller does not try again.",
        "Calls that a limit refused at the time are made again, with what their refusal says they "
        "asked for; calls refused for another reason are left out.",
    ]
    metrics = {rule.metric for rule in rules if not rule.per_request}
    if metrics & {LimitRule.Metric.TOKENS, LimitRule.Metric.COMPLETION_TOKENS}:
        found.append(
            "Completion tokens are reserved as many as the hold of the call paid for; for models "
            "without a price as many as it used. Prompt tokens are reserved as many as it used."
        )
    if any(rule.per_request for rule in rules):
        found.append(
            "A maximum per request is held against what the call used. Calls that set no maximum "
            "of their own would have been cut short instead of refused."
        )
    if LimitRule.Metric.CONCURRENT_REQUESTS in metrics:
        found.append(
            "Calls wait for a slot in the queue as in the server, and then run as long as they did."
        )
    if any(rule.level == LimitRule.Level.MEMBER for rule in rules):
        found.append("Keys belong to the member who owns them now.")
    return found
