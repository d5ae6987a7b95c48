"""What a kill loop came to: what callers saw, beside what the records and the provider say."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from tests.faults.cluster import BUDGET_NUSD, Cluster
from tests.faults.load import CONFLICT, KINDS, UNRECORDED, Seen
from tests.faults.recovery import Recovery
from tests.support.rows import count, select
from tests.support.servers import run_manage

BACK_WITHIN_S = 40.0
EXPECTED = {*KINDS, *UNRECORDED, CONFLICT, "idempotent", "broken", "cut short"}
EXPECTED |= {"ended before we left"}


@dataclass
class Report:
    """damaged, reported: how many records were made unreadable, and how many `prove` tells of.
    What follows reported must be nothing."""

    calls: int
    outcomes: dict[str, int]
    statuses: dict[str, int]
    ids_seen: int
    upstream_calls: int
    # After a process was killed that had all slots of a key, and was not started again.
    slots_back_s: float
    purses_back_s: float
    storage: str = ""
    processes: int = 0
    seed: int = 0
    duration_s: float = 0
    server_kills: int = 0
    redis_kills: int = 0
    database_kills: int = 0
    disruptions: dict[str, int] = field(default_factory=dict)
    damaged: int = 0
    reported: int = 0
    other_faults: list[str] = field(default_factory=list)
    # Such as 401 and 500.
    unexpected: dict[str, int] = field(default_factory=dict)
    ids_without_record: list[str] = field(default_factory=list)
    # Answers to calls with an Idempotency-Key: recorded as aborted, or another one the next time.
    given_and_aborted: list[str] = field(default_factory=list)
    given_otherwise: list[str] = field(default_factory=list)
    holds_left: int = 0
    purses_left: int = 0
    processes_left: int = 0
    overspent_nusd: int = 0
    breaks: list[str] = field(default_factory=list)

    @property
    def is_clean(self) -> bool:
        """True when nothing is wrong, however long things took."""
        left = self.holds_left + self.purses_left + self.processes_left
        missing = self.ids_without_record or self.other_faults
        # What kept the answer may have been in a damaged record. Such a call is aborted, and made
        # again under its key: both at once.
        again = {text.split(",")[0] for text in self.given_otherwise}
        is_kept = len({*self.given_and_aborted} | again) <= self.damaged
        is_right = is_kept and self.damaged == self.reported and not self.unexpected
        return is_right and not (missing or self.breaks or left or self.overspent_nusd)

    @property
    def is_in_time(self) -> bool:
        return max(self.slots_back_s, self.purses_back_s) <= BACK_WITHIN_S


def write_report(cluster: Cluster, seen: Seen, recovery: Recovery) -> Report:
    """Read what is left once every process has stopped."""
    home = cluster.home
    rows = select(home, "SELECT id, status FROM gateway_callrecord")
    recorded = {call_id for call_id, _ in rows}
    aborted = {call_id for call_id, status in rows if status == "platform_aborted"}
    statuses = select(home, "SELECT status, COUNT(*) FROM gateway_callrecord GROUP BY 1")
    report = Report(
        calls=seen.calls,
        outcomes=dict(seen.outcomes),
        statuses={status: int(number) for status, number in statuses},
        ids_seen=len(seen.ids),
        upstream_calls=len(cluster.upstream.book()),
        slots_back_s=recovery.slots_back_s,
        purses_back_s=recovery.purses_back_s,
        unexpected={name: n for name, n in seen.outcomes.items() if name not in EXPECTED},
        ids_without_record=sorted(text for text in seen.ids if bare(text) not in recorded),
        given_and_aborted=sorted(text for text in seen.given if bare(text) in aborted),
        given_otherwise=seen.given_again,
        holds_left=count(home, "gateway_callrecord WHERE status = 'in_progress'"),
        purses_left=count(home, "accounts_purse WHERE amount_nusd <> 0"),
        processes_left=count(home, "gateway_servingprocess WHERE state = 'alive'"),
        overspent_nusd=max(_spent_of_budget_nusd(cluster) - BUDGET_NUSD, 0),
    )
    book = f"{cluster.upstream.origin}/book"
    done = run_manage(home, "prove", "--json", "--upstream-usage", book)
    proof: dict[str, Any] = json.loads(done.stdout)
    report.breaks = proof["breaks"]
    for fault in proof["journal_faults"]:
        if fault["kind"] == "damaged":
            report.reported += fault["records"]
        else:
            report.other_faults.append(f"{fault['kind']}: {fault['reason']}")
    return report


def bare(call_id: str) -> str:
    return call_id.replace("-", "")


def _spent_of_budget_nusd(cluster: Cluster) -> int:
    query = "SELECT key_id, COALESCE(SUM(charge_nusd), 0) FROM gateway_callrecord GROUP BY 1"
    spent = {key_id: nusd for key_id, nusd in select(cluster.home, query)}  # noqa: C416
    return int(spent.get(bare(cluster.keys.budgeted_id), "0"))
