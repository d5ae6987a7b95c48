"""`prove`: recompute the ledger from its rows and say whether it adds up. Read-only.

Every check sees the same moment: one read transaction that blocks no writer.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime

from django.db import connection, transaction
from django.db.models import QuerySet
from django.utils import timezone

from gateway.core.json_types import JsonObject
from gateway.models import CallRecord, LedgerCheck, ProofMark
from gateway.services.exact_prices import PRICED_BY, exact_cost_nusd
from gateway.services.invariants import ALL, SMALL, Invariant
from gateway.services.proof_marks import MarkPlan, drop_mark, keep_mark, plan_mark
from gateway.services.proof_scope import Scope
from gateway.services.reconcile_upstream import compare
from gateway.services.rollup_rules import rollup_rules
from gateway.services.total_rules import total_rules

MAX_BREAKS_SHOWN = 20
# A proof of so many recent rows that takes longer begins further on the next time. Of fewer rows it
# would take as long: then there are many wallets.
LONG_MS = 1_000
MANY_ROWS = 10_000


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of checking one invariant."""

    id: str
    title: str
    checked: int
    # At most MAX_BREAKS_SHOWN of them, described.
    breaks: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Proof:
    """The result of all checks."""

    checked_at: datetime
    duration_ms: int
    # None when every row was checked.
    since: datetime | None
    findings: list[Finding]
    # Where the next one can begin; None: where this one did.
    next_mark: MarkPlan | None

    @property
    def entries(self) -> int:
        """How many ledger entries were looked at."""
        return self._checked("I1b")

    @property
    def calls(self) -> int:
        """How many calls were looked at."""
        return self._checked("I4b")

    @property
    def breaks(self) -> list[str]:
        return [f"{finding.id}: {text}" for finding in self.findings for text in finding.breaks]

    @property
    def holds(self) -> bool:
        return not self.breaks

    def _checked(self, rule: str) -> int:
        return next(finding.checked for finding in self.findings if finding.id == rule)


def prove(
    *, upstream_usage: Iterable[JsonObject] | None = None, mark: ProofMark | None = None
) -> Proof:
    """Check every invariant, and the tokens against an upstream's usage records, if given.

    upstream_usage: one mapping per call that reached the upstream, keys request_id, prompt_tokens,
    completion_tokens and state. mark: look only at what came since then, and believe what was
    proved before. Raises DatabaseError when the database does not answer.
    """
    started_at, started_s = timezone.now(), time.monotonic()
    scope = Scope(mark)
    with reading_one_moment():
        rules = (*ALL, *rollup_rules(), *total_rules(scope.since))
        findings = [_check(scope, invariant) for invariant in rules]
        findings.append(check_one_by_one(scope.calls()))
        if upstream_usage is not None:
            findings += [Finding(*result) for result in compare(upstream_usage, MAX_BREAKS_SHOWN)]
        moves = mark is None or (_is_large(findings) and _ms_since(started_s) > LONG_MS)
        next_mark = plan_mark(started_at) if moves else None
    duration_ms = _ms_since(started_s)
    return Proof(started_at, duration_ms, scope.since, findings, next_mark)


@transaction.atomic
def record_proof(proof: Proof) -> LedgerCheck:
    """Keep the verdict for the dashboard, and from where on to prove the next time."""
    if not proof.holds:
        drop_mark()
    elif proof.next_mark is not None:
        keep_mark(proof.next_mark)
    return LedgerCheck.objects.create(
        checked_at=proof.checked_at,
        since=proof.since,
        duration_ms=proof.duration_ms,
        entries=proof.entries,
        calls=proof.calls,
        breaks=proof.breaks,
    )


def _ms_since(started_s: float) -> int:
    return round((time.monotonic() - started_s) * 1000)


def _is_large(findings: Iterable[Finding]) -> bool:
    """True when many calls and ledger entries were looked at."""
    return sum(finding.checked for finding in findings if finding.id in ("I1b", "I4b")) > MANY_ROWS


@contextmanager
def reading_one_moment() -> Iterator[None]:
    """Read as of one moment and write nothing.

    Not transaction.atomic: on SQLite that takes the write lock (docs/adr/0009), and a proof of a
    large ledger would keep everybody from writing.
    """
    if connection.in_atomic_block:
        yield
        return
    begin = "BEGIN" if connection.vendor == "sqlite" else "BEGIN ISOLATION LEVEL REPEATABLE READ"
    with connection.cursor() as cursor:
        cursor.execute(begin)
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute("ROLLBACK")


def _check(scope: Scope, invariant: Invariant) -> Finding:
    [(checked,)] = scope.ask(invariant.count)
    breaks = [str(text) for (text,) in scope.ask(invariant.breaks, most=MAX_BREAKS_SHOWN)]
    return Finding(invariant.id, invariant.title, checked, breaks)


def check_one_by_one(calls: QuerySet[CallRecord]) -> Finding:
    """Check those calls exactly whose price SQL cannot tell (gateway.services.invariants)."""
    ended = calls.exclude(status__in=[CallRecord.Status.IN_PROGRESS, CallRecord.Status.REFUSED])
    others = ended.extra(where=[f"NOT ({SMALL})"])  # noqa: S610 (constant)
    checked, breaks = 0, []
    for call in others.only(*PRICED_BY).iterator():
        checked += 1
        cost_nusd = exact_cost_nusd(call)
        if cost_nusd is None:
            breaks.append(f"call {call.pk}: counts and prices that cannot be read: {call.units}")
            continue
        least_nusd = most_nusd = 0
        if call.charge_basis in ("usage", "estimate"):
            least_nusd, most_nusd = min(cost_nusd, call.hold_nusd), cost_nusd
        adds_up = call.charge_nusd + call.absorbed_nusd == cost_nusd
        if not (adds_up and least_nusd <= call.charge_nusd <= most_nusd):
            breaks.append(f"call {call.pk}: charge {call.charge_nusd}, price {cost_nusd}")
    title = "calls with very large numbers, other units or tools cost counts x price too"
    return Finding("I9b", title, checked, breaks[:MAX_BREAKS_SHOWN])
