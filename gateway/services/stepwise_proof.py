"""The proof of all rows in short steps, so that it can rest, stop and go on (docs/adr/0038).

It proves the ledger as it was when it began. What its mark (gateway.services.proof_marks) says
had been posted by then cannot change any more: ledger entries up to a number in each wallet, and
calls that began before a quarter of an hour. Of the calls since then, the mark has what their keys
had been charged. So each part can be read at another time, and the sums still have to agree. What
came after the mark is for a proof of recent rows, which follows.

The state is a tree of JSON: it is kept between steps (gateway.models.ProofProgress).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import TypedDict
from uuid import UUID

from django.db import connection

from accounts.ids import stored_id
from accounts.untyped import SqlRow, SqlValue
from gateway.core.time_spans import DAY, DAY_S, HOUR_S, LONG_AGO, QUARTER_S
from gateway.models import CallRecord, ProofMark, ProvenKey, ProvenWallet
from gateway.selectors.id_times import moment_of
from gateway.selectors.periods import floor_to_quarter
from gateway.services import stepwise_sums
from gateway.services.invariants import ALL
from gateway.services.proof_marks import MarkPlan, plan_mark
from gateway.services.proof_scope import ID_MARGIN
from gateway.services.proving import (
    MAX_BREAKS_SHOWN,
    Finding,
    check_one_by_one,
    reading_one_moment,
)
from gateway.services.rolling_up import oldest_total
from gateway.services.total_rules import total_rules

FORMAT = 1
ROWS = 3_000  # of calls or entries in a step: well below a tenth of a second
SOME_HOURS = timedelta(hours=3)
OF_ENTRIES = ("I1b", "I5", "I20")
OF_CALLS = ("I4b", "I6", "I9", "I11", "I17")
_RULES = {rule.id: rule for rule in ALL}
_ENTRIES = """
WITH entries AS (SELECT * FROM accounts_ledgerentry
                 WHERE wallet_id = %s AND sequence > %s AND sequence <= %s),
     proven_wallets AS (SELECT workspace_id, CAST(%s AS BIGINT) AS posted_nusd
                        FROM accounts_wallet WHERE workspace_id = %s)
"""
_CALLS = """
WITH calls AS (SELECT * FROM gateway_callrecord WHERE id > %s AND id <= %s AND created_at < %s)
"""
_SUMS_OF_ENTRIES = "SELECT COUNT(*), COALESCE(SUM(amount_nusd), 0) FROM entries"
_USAGE_OF_ENTRIES = (
    "SELECT wallet_id, key_id, SUM(amount_nusd), -SUM(calls) FROM entries"
    " WHERE kind = 'usage' GROUP BY 1, 2"
)
_CHARGES_OF_CALLS = (
    "SELECT workspace_id, key_id, SUM(charge_nusd), COUNT(*) FROM calls"
    " WHERE charge_nusd <> 0 GROUP BY 1, 2"
)


class ProofState(TypedDict):
    """How far a proof has come, and what the rest of it has to know."""

    format: int
    since: str
    marked_at: str
    # Workspace, posted money and newest entry of each wallet.
    wallets: list[tuple[str, int, int]]
    # Workspace, key, charge and calls of each key.
    keys: list[tuple[str, str, int, int]]
    newest: str
    stage: str
    # How many wallets are done.
    wallet: int
    # The last entry read of the wallet, and the balance after it.
    entry: tuple[int, int]
    # The last call read.
    call: str
    # Up to here the totals of quarters are taken off.
    taken_off: str
    totals: str
    day: str
    spent: stepwise_sums.Groups
    usage: stepwise_sums.Groups
    latency: stepwise_sums.Groups
    checked: dict[str, int]
    breaks: dict[str, list[str]]
    work_us: int
    # This proof repeats one that found breaks.
    again: bool


class StepwiseProof:
    """One proof of all rows, under way. state: what `begin` made, or what was kept of it."""

    def __init__(self, state: ProofState) -> None:
        self.state = state

    @classmethod
    def begin(cls, now: datetime) -> StepwiseProof:
        """Set the mark up to which the ledger will be proved."""
        with reading_one_moment():
            plan = plan_mark(now)
            # Not MAX, which PostgreSQL before 18 does not have for UUIDs.
            ids = CallRecord.objects.order_by("-id").values_list("id", flat=True)
            newest = ids.first() or UUID(int=0)
        return cls(
            {
                "format": FORMAT,
                "since": plan.mark.since.isoformat(),
                "marked_at": plan.mark.marked_at.isoformat(),
                "wallets": [
                    (wallet.workspace_id.hex, wallet.posted_nusd, wallet.sequence)
                    for wallet in plan.wallets
                ],
                "keys": [
                    (key.workspace_id.hex, key.key_id.hex, int(key.charge_nusd), key.calls)
                    for key in plan.keys
                ],
                "newest": newest.hex,
                "stage": "entries",
                "wallet": 0,
                "entry": (0, 0),
                "call": UUID(int=0).hex,
                "taken_off": LONG_AGO.isoformat(),
                "totals": "",
                "day": "",
                "spent": {},
                "usage": {},
                "latency": {},
                "checked": dict.fromkeys(("I1b", "I4b"), 0),
                "breaks": {},
                "work_us": 0,
                "again": False,
            }
        )

    @property
    def is_done(self) -> bool:
        return self.state["stage"] == "done"

    @property
    def plan(self) -> MarkPlan:
        """The mark that is proved when the proof is done and has found no break."""
        mark = ProofMark(since=self._since, marked_at=_moment(self.state["marked_at"]))
        wallets = [
            ProvenWallet(workspace_id=UUID(id), posted_nusd=posted_nusd, sequence=sequence)
            for id, posted_nusd, sequence in self.state["wallets"]
        ]
        keys = [
            ProvenKey(workspace_id=UUID(id), key_id=UUID(key), charge_nusd=charge_nusd, calls=calls)
            for id, key, charge_nusd, calls in self.state["keys"]
        ]
        return MarkPlan(mark, wallets, keys)

    @property
    def findings(self) -> list[Finding]:
        """What the proof has come to so far."""
        checked, breaks = self.state["checked"], self.state["breaks"]
        return [
            Finding(
                rule, _title(rule), checked.get(rule, 0), breaks.get(rule, [])[:MAX_BREAKS_SHOWN]
            )
            for rule in sorted({*checked, *breaks})
        ]

    def step(self) -> None:
        """Read one part, as of one moment. After a step that raised, the state is of no use."""
        stages: dict[str, Callable[[], None]] = {
            "entries": self._read_entries,
            "calls": self._read_calls,
            "totals": self._read_totals,
        }
        with reading_one_moment():
            stages[self.state["stage"]]()

    @property
    def _since(self) -> datetime:
        return _moment(self.state["since"])

    def _read_entries(self) -> None:
        state = self.state
        if state["wallet"] == len(state["wallets"]):
            state["stage"] = "calls"
            return
        wallet_id, posted_nusd, newest = state["wallets"][state["wallet"]]
        sequence, balance_nusd = state["entry"]
        until = min(sequence + ROWS, newest)
        wallet = stored_id(UUID(wallet_id))
        part = _Part(_ENTRIES, [wallet, sequence, until, balance_nusd, wallet])
        [(count, amount_nusd)] = part.ask(_SUMS_OF_ENTRIES)
        findings = [part.check(rule) for rule in OF_ENTRIES]
        stepwise_sums.add(state["spent"], _named(part.ask(_USAGE_OF_ENTRIES)), 1)
        self._note(findings)
        self._found("I18", count)
        if count != until - sequence:
            self._break("I18", f"wallet {wallet_id}: {count} entries from {sequence} to {until}")
        balance_nusd += amount_nusd
        state["entry"] = until, balance_nusd
        if until == newest:
            self._found("I1", 1)
            if balance_nusd != posted_nusd:
                shown = f"posted {posted_nusd}, entries {balance_nusd}"
                self._break("I1", f"wallet {wallet_id}: {shown}")
            state["wallet"], state["entry"] = state["wallet"] + 1, (0, 0)

    def _read_calls(self) -> None:
        state = self.state
        after, newest = UUID(state["call"]), UUID(state["newest"])
        ids = CallRecord.objects.filter(id__gt=after, id__lte=newest).order_by("id")
        until = ids.values_list("id", flat=True)[ROWS - 1 : ROWS].first() or newest
        moment = connection.ops.adapt_datetimefield_value(self._since)
        part = _Part(_CALLS, [stored_id(after), stored_id(until), moment])
        findings = [part.check(rule) for rule in OF_CALLS]
        calls = CallRecord.objects.filter(id__gt=after, id__lte=until, created_at__lt=self._since)
        findings.append(check_one_by_one(calls))
        charges = _named(part.ask(_CHARGES_OF_CALLS))
        usage = part.ask(stepwise_sums.question(stepwise_sums.USAGE))
        latency = part.ask(stepwise_sums.question(stepwise_sums.LATENCY))
        stepwise_sums.add(state["spent"], charges, 1)
        stepwise_sums.add(state["usage"], usage, 5)
        stepwise_sums.add(state["latency"], latency, 3)
        self._note(findings)
        self._found("I13", sum(row[2] for row in charges))
        is_last = until == newest
        self._take_off(self._since if is_last else floor_to_quarter(moment_of(until) - ID_MARGIN))
        state["call"] = until.hex
        if is_last:
            self._compare()
            state["stage"] = "totals"

    def _take_off(self, until: datetime) -> None:
        """Take off the totals of quarters whose calls have all been read."""
        since, until = _moment(self.state["taken_off"]), min(until, self._since)
        if until <= since:
            return
        usage, latency = self.state["usage"], self.state["latency"]
        rows, calls = stepwise_sums.take_off(usage, latency, since, until)
        self._found("I13b", rows)
        self._found("I13c", calls)
        self.state["taken_off"] = until.isoformat()

    def _compare(self) -> None:
        """Say what has not come to nothing: calls, less the ledger or less the totals."""
        state = self.state
        since = ((id, key, charge, calls) for id, key, charge, calls in state["keys"])
        stepwise_sums.add(state["spent"], _named(since), 1)
        for rule, groups in (
            ("I13", state["spent"]),
            ("I13b", state["usage"]),
            ("I13c", state["latency"]),
        ):
            for name, sums in groups.items():
                if any(sums):
                    self._break(rule, f"{name}: calls less what is kept of them: {sums}")

    def _read_totals(self) -> None:
        """Compare the totals of some hours with those of their quarters, or at the end of a day
        those of the day with its hours."""
        state = self.state
        start = _moment(state["totals"]) if state["totals"] else _first_day()
        if start is None or (start >= self._since and not state["day"]):
            state["stage"] = "done"
            return
        if state["day"]:
            day = _moment(state["day"])
            rules = total_rules(day, self._or_all(day + DAY), spans_s=(DAY_S,))
            state["day"] = ""
        else:
            end = start + SOME_HOURS
            rules = total_rules(start, self._or_all(end), spans_s=(QUARTER_S, HOUR_S))
            if end.hour == 0 or end >= self._since:
                state["day"] = start.replace(hour=0).isoformat()
            state["totals"] = end.isoformat()
        part = _Part("", [])
        self._note([part.check_rule(rule.id, rule.count, rule.breaks) for rule in rules])

    def _or_all(self, end: datetime) -> datetime | None:
        """Return the end of a part of the totals, None when it is the last: all that are left."""
        return None if end >= self._since else end

    def _note(self, findings: Iterable[Finding]) -> None:
        for finding in findings:
            self._found(finding.id, finding.checked)
            for text in finding.breaks:
                self._break(finding.id, text)

    def _found(self, rule: str, count: int) -> None:
        self.state["checked"][rule] = self.state["checked"].get(rule, 0) + count

    def _break(self, rule: str, text: str) -> None:
        shown = self.state["breaks"].setdefault(rule, [])
        if len(shown) < MAX_BREAKS_SHOWN:
            shown.append(text)


class _Part:
    """Some rows, under the names that rules give them."""

    def __init__(self, names: str, values: list[SqlValue]) -> None:
        self._names, self._values = names, values

    def ask(self, question: str) -> list[SqlRow]:
        with connection.cursor() as cursor:
            cursor.execute(self._names + question, self._values)
            return stepwise_sums.whole(cursor.fetchall())

    def check(self, rule: str) -> Finding:
        return self.check_rule(rule, _RULES[rule].count, _RULES[rule].breaks)

    def check_rule(self, rule: str, count: str, breaks: str) -> Finding:
        [(checked,)] = self.ask(count)
        shown = [str(text) for (text,) in self.ask(f"{breaks} LIMIT {MAX_BREAKS_SHOWN}")]
        return Finding(rule, "", checked, shown)


def _named(rows: Iterable[SqlRow]) -> list[tuple[str, int, int]]:
    """Return the sums of workspaces' keys, their two ids as one name."""
    return [
        (f"{UUID(str(workspace)).hex} key {UUID(str(key)).hex}", charge, calls)
        for workspace, key, charge, calls in rows
    ]


def _title(rule: str) -> str:
    return _RULES[rule].title if rule in _RULES else ""


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _first_day() -> datetime | None:
    oldest = oldest_total()
    return oldest and oldest.replace(hour=0, minute=0)
