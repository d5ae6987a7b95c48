"""Replays the calls of a period under a set of rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from django.conf import settings

from gateway.admission.counter_protocols import QueueLimits
from gateway.backtest.past_calls import Scope, is_replayed, micros, read_calls
from gateway.backtest.replay import PastCall, Refusal, Replay
from gateway.backtest.report import Findings
from gateway.backtest.rule_set import RuleSet
from gateway.models import CallRecord
from keys.models import LimitRule


def backtest(
    rules: Sequence[LimitRule], scope: Scope, *, lists: bool, latest: int | None = None
) -> Findings:
    """Return what the rules would have refused of the calls in the scope.

    Calls outside the scope that count under the same rules are replayed with them, and not
    reported. Reads a few thousand records at a time. latest: only the newest, so many at most.
    """
    compiled = RuleSet(rules)
    widened = _widened(scope, rules)
    if latest is not None:
        widened = widened.shortened(latest)
    findings = Findings(rules, since=widened.since, lists=lists)
    reported = _Reported(findings, scope)
    queue = QueueLimits(settings.QUEUE_TIMEOUT_S, settings.MAX_QUEUE)
    replay = Replay(micros(widened.since), queue, reported)
    for records in widened.chunks():
        replayed = [record for record in records if is_replayed(record)]
        replay.make(read_calls(replayed, compiled))
        reported.count(records)
    replay.close()
    return findings


class _Reported:
    """Hands on what is in the scope."""

    def __init__(self, findings: Findings, scope: Scope) -> None:
        self._findings = findings
        self._workspace_id = str(scope.workspace_id) if scope.workspace_id else ""
        self._key_id = str(scope.key_id) if scope.key_id else ""

    def refused(self, refusal: Refusal) -> None:
        if self._has(refusal.call.key.key_id, refusal.call.key.workspace_id):
            self._findings.add(refusal)

    def queued(self, call: PastCall, waited_us: int) -> None:
        if self._has(call.key.key_id, call.key.workspace_id):
            self._findings.queued += 1
            self._findings.longest_us = max(self._findings.longest_us, waited_us)

    def count(self, records: Sequence[CallRecord]) -> None:
        for record in records:
            if not self._has(str(record.key_id), str(record.workspace_id)):
                continue
            if is_replayed(record):
                self._findings.calls += record.counted_calls
            else:
                self._findings.refused_otherwise += record.counted_calls

    def _has(self, key_id: str, workspace_id: str) -> bool:
        if self._key_id:
            return key_id == self._key_id
        return self._workspace_id in ("", workspace_id)


def _widened(scope: Scope, rules: Sequence[LimitRule]) -> Scope:
    """Return which calls count under the rules that calls in the scope are under."""
    levels = {rule.level for rule in rules if rule.is_enabled}
    if levels & {LimitRule.Level.INSTALLATION, LimitRule.Level.MODEL}:
        return replace(scope, workspace_id=None, key_id=None)
    if levels & {LimitRule.Level.WORKSPACE, LimitRule.Level.MEMBER}:
        return replace(scope, key_id=None)
    return scope
