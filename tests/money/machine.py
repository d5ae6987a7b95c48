"""Anything that can happen to money, in any order, checked against paper after every step."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from contextlib import nullcontext, suppress
from datetime import timedelta
from typing import Any

from django.utils import timezone
from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule

from accounts import ledger
from accounts.models import LedgerEntry
from gateway.accounting.settle import settle
from gateway.core.call_identity import CallIdentity
from gateway.core.errors import CallerLeft, DatabaseUnavailable, InsufficientCredits
from gateway.core.grant import Grant
from gateway.core.ids import new_request_id
from gateway.core.money import Price, Usage
from gateway.core.receipt import PDF, Receipt, ToolUse
from gateway.journal.file import Position
from gateway.journal.log import CallLog
from gateway.models import ServingProcess
from gateway.streaming.meter import Meter
from tests.money.branch import (
    Branch,
    drive,
    failing_ledger,
    locked_database,
    lost_commit_reply,
    outcome_of,
)
from tests.money.paper import PaperCall
from tests.money.world import MoneyWorld

BRANCHES = 3
amounts = st.integers(1, 400)
picks = st.integers(0, 10_000)
rates = st.sampled_from([0, 1, 333, 500, 999, 1000, 1500, 2500, 7001])
prices = st.builds(Price, rates, rates, rates)
Burst = list[tuple[int, int, int]]
# (prompt tokens, most output tokens, used output tokens) of each call
bursts = st.lists(st.tuples(*[st.integers(1, 40)] * 3), min_size=2, max_size=5)
TROUBLES: dict[str, Callable[[], Any]] = {
    "the database is locked": locked_database,
    "the answer to a commit is lost": lost_commit_reply,
    "the database goes away in mid-batch": failing_ledger,
}
AFTERMATHS = ["", "", "work", "crash", "freeze", *TROUBLES, *TROUBLES]


class MoneyMachine(MoneyWorld):
    """A workspace, up to three processes, and bad luck."""

    @initialize(amount=st.integers(300, 3_000))
    def begin(self, amount: int) -> None:
        self.post(amount, f"grant:{uuid.uuid4()}")
        self.branches.append(Branch(self.loop, self.home))

    # Money comes and goes

    def post(self, amount: int, source: str) -> LedgerEntry:
        entry = ledger.post(
            self.workspace.pk,
            kind=LedgerEntry.Kind.GRANT,
            amount_nusd=amount,
            source=source,
            actor="tests",
            reason="machine",
            at=timezone.now(),
        )
        self.paper.granted_nusd += amount
        return entry

    @rule(amount=amounts)
    def grant_twice(self, amount: int) -> None:
        """The same source again is the same entry and moves nothing."""
        source = f"grant:{uuid.uuid4()}"
        first = self.post(amount, source)
        again = self.post(amount, source)
        self.paper.granted_nusd -= amount
        assert first.pk == again.pk

    @rule(amount=st.integers(1, 900))
    def take_back(self, amount: int) -> None:
        wallet = self.wallet()
        fits = amount <= wallet.posted_nusd - wallet.drawn_nusd
        try:
            ledger.grant(self.workspace, amount_nusd=-amount, actor="tests", reason="machine")
        except ledger.InsufficientBalance:
            assert not fits
        else:
            assert fits
            self.paper.granted_nusd -= amount

    @rule(price=prices)
    def change_price(self, price: Price) -> None:
        self.price = price

    # Calls

    @precondition(lambda self: self.branches)
    @rule(pick=picks, prompt=st.integers(0, 40), output=st.integers(1, 60))
    def admit(self, pick: int, prompt: int, output: int) -> None:
        self.admit_call(pick, prompt, output)

    def admit_call(self, pick: int, prompt: int, output: int) -> str | None:
        """Return the call's id, or None when it was refused, rightly."""
        branch = self.branches[pick % len(self.branches)]
        if branch.stores.credits.is_fenced:
            return None
        want, least = self.worth_nusd(prompt, output), self.worth_nusd(prompt, 1)
        if want == 0:
            return self.write_admission(branch, prompt, 0)
        self.loop.now_s += 0.3  # an empty wallet is believed to be empty for so long
        for other in self.branches:
            other.hear()
        self.settle_what_is_owed()
        available = self.available_nusd()
        try:
            held = self.hold(branch, want, least)
        except InsufficientCredits:
            assert available < least, f"refused {least} with {available} there"
            return None
        assert held == min(want, available), f"held {held} of {want} with {available} there"
        return self.write_admission(branch, prompt, held)

    @precondition(lambda self: self.branches)
    @rule(pick=picks, uses=bursts, after=st.sampled_from(AFTERMATHS))
    def make_calls(self, pick: int, uses: Burst, after: str) -> None:
        """Several calls at once, of both keys, ended before anything is drained."""
        made = [self.admit_call(pick, prompt, output) for prompt, output, _ in uses]
        for call_id, (prompt, _, used) in zip(made, uses, strict=True):
            if call_id in self.open_calls():
                self.end_call(call_id, Usage(prompt, used, used // 3), left=False)
        if after in TROUBLES:
            self.work_in_trouble(pick, after)
        elif after:
            getattr(self, after)(pick)

    @precondition(lambda self: self.branches)
    @rule(pick=picks, uses=bursts)
    def make_and_settle_later(self, pick: int, uses: Burst) -> None:
        for prompt, output, _ in uses:
            self.admit_call(pick, prompt, output)

    @precondition(lambda self: self.branches)
    @rule(pick=picks, wishes=st.lists(st.tuples(amounts, amounts), min_size=2, max_size=4))
    def admit_together(self, pick: int, wishes: list[tuple[int, int]]) -> None:
        """Calls wait for money side by side: whoever is refused could not have been served."""
        branch = self.branches[pick % len(self.branches)]
        if branch.stores.credits.is_fenced:
            return
        self.loop.now_s += 0.3
        for other in self.branches:
            other.hear()
        self.settle_what_is_owed()
        waits = []
        for most, least in wishes:
            work = branch.stores.credits.hold(
                self.workspace_id, want_nusd=max(most, least), least_nusd=min(most, least)
            )
            waits.append(self.loop.create_task(outcome_of(work)))
            self.loop.spin_once()
        outcomes = [drive(self.loop, wait, self.branches) for wait in waits]
        granted = [one for one in outcomes if isinstance(one, int)]
        rest = self.available_nusd() - sum(granted)
        for (most, least), outcome in zip(wishes, outcomes, strict=True):
            if isinstance(outcome, InsufficientCredits):
                assert rest < min(most, least), f"refused with {rest} there"
            else:
                assert isinstance(outcome, int), repr(outcome)
        for amount in granted:
            branch.stores.credits.release(self.workspace_id, amount, 0)

    def settle_what_is_owed(self) -> None:
        """Have posted what calls cost beyond their holds: only then is it known who pays it."""
        if self.owed_nusd():
            for branch in self.branches:
                branch.post_all()

    def hold(self, branch: Branch, want: int, least: int) -> int:
        if branch.stores.credits.try_hold(self.workspace_id, want):
            return want
        work = branch.stores.credits.hold(self.workspace_id, want_nusd=want, least_nusd=least)
        return drive(self.loop, work, self.branches)

    def write_admission(self, branch: Branch, prompt: int, held: int) -> str:
        grant = Grant(
            identity=CallIdentity(
                call_id=new_request_id(),
                workspace_id=self.workspace_id,
                key_id=self.keys[prompt % 2],
                at=timezone.now().timestamp(),
                requested_model="m",
                streamed=bool(prompt % 2),
            ),
            model="m",
            price=self.price,
            hold_nusd=held,
            limit_tokens=1,
            cap_tokens=None,
            tools=(ToolUse(PDF, prompt % 3, 7),),
        )
        CallLog(branch.stores.records).admitted(grant)
        call = PaperCall(branch.stores.process_id, grant, admitted_at=branch.writer.written)
        self.paper.calls[grant.identity.call_id] = call
        return grant.identity.call_id

    @precondition(lambda self: self.branches)
    @rule(pick=picks, want=amounts, when=st.sampled_from(["early", "late", "commit lost"]))
    def admit_and_change_ones_mind(self, pick: int, want: int, when: str) -> None:
        """The caller leaves while the call waits for money, or just as it gets it."""
        branch = self.branches[pick % len(self.branches)]
        work = branch.stores.credits.hold(self.workspace_id, want_nusd=want, least_nusd=1)
        task = self.loop.create_task(work)
        self.loop.spin_once()
        with lost_commit_reply() if when == "commit lost" else nullcontext():
            if when != "early":
                branch.writer.run_step()
                self.loop.spin_once()
        task.cancel()
        self.loop.spin()
        if not task.cancelled():
            with suppress(InsufficientCredits, DatabaseUnavailable):
                branch.stores.credits.release(self.workspace_id, task.result(), 0)

    @precondition(lambda self: self.open_calls())
    @rule(
        pick=picks,
        prompt=st.integers(0, 60),
        cached=st.integers(0, 70),
        written=st.integers(0, 70),
        output=st.integers(0, 90),
        left=st.booleans(),
    )
    def settle(
        self, *, pick: int, prompt: int, cached: int, written: int, output: int, left: bool
    ) -> None:
        """A call ends; what it used may be worth more than it held."""
        calls = sorted(self.open_calls())
        others = {"cache_write": written} if written % 2 else {}
        usage = Usage(prompt, output, cached, 0, others)
        self.end_call(calls[pick % len(calls)], usage, left=left)

    def end_call(self, call_id: str, usage: Usage, *, left: bool) -> None:
        call = self.paper.calls[call_id]
        branch = self.open_calls()[call_id]
        meter = Meter(0, 0)
        meter.usage, meter.deltas = usage, usage.completion_tokens
        receipt = settle(call.grant, meter, CallerLeft() if left else None, usage)
        paid, hold = 0, int(call.grant.hold_nusd)
        if hold:
            paid = branch.stores.credits.release(self.workspace_id, hold, receipt.charge_nusd)
        call.is_released = True
        self.tell_end(branch, call.grant, meter, receipt, paid)
        self.ends.append((branch, call.grant, meter, receipt, paid))
        if call.status == "running" and not branch.stores.credits.is_fenced:
            call.status, call.settled_at = "settled", branch.writer.written
            if usage.completion_tokens:
                cost = self.cost_nusd(call, usage)
                assert min(cost, hold) <= paid <= cost
                call.charge_nusd, call.cost_nusd = paid, cost

    def tell_end(
        self, branch: Branch, grant: Grant, meter: Meter, receipt: Receipt, paid: int
    ) -> None:
        CallLog(branch.stores.records).settled(grant, meter, receipt, paid_nusd=paid, error=None)

    @precondition(lambda self: self.ends)
    @rule(pick=picks)
    def settle_again(self, pick: int) -> None:
        """The end of a call is told a second time: nothing may change."""
        branch, *end = self.ends[pick % len(self.ends)]
        if branch in self.branches:
            self.tell_end(branch, *end)

    # Time, work and bad luck

    @precondition(lambda self: len(self.branches) < BRANCHES)
    @rule()
    def start(self) -> None:
        self.open_branch()

    def open_branch(self) -> None:
        """A process starts; it reaps those whose lock is gone, and lets the frozen be."""
        self.branches.append(Branch(self.loop, self.home))
        frozen = {branch.stores.process_id for branch in self.frozen}
        for process_id in self.surviving.keys() - frozen:
            self.paper.bury(process_id, self.surviving.pop(process_id))

    @precondition(lambda self: self.branches)
    @rule(pick=picks)
    def work(self, pick: int) -> None:
        assert self.branches[pick % len(self.branches)].step()

    @rule()
    def idle(self) -> None:
        for _ in range(3):
            self.loop.now_s += 5.1
            self.loop.spin()
        for branch in self.branches:
            branch.step()

    @precondition(lambda self: self.branches)
    @rule(pick=picks, trouble=st.sampled_from(sorted(TROUBLES)))
    def work_in_trouble(self, pick: int, trouble: str) -> None:
        with TROUBLES[trouble]():
            self.branches[pick % len(self.branches)].step()

    @precondition(lambda self: self.branches)
    @rule(pick=picks, how=st.sampled_from(["crash", "lose_power", "freeze"]))
    def strike(self, pick: int, how: str) -> None:
        getattr(self, how)(pick)
        if not self.branches:
            self.open_branch()

    def crash(self, pick: int) -> None:
        """A SIGKILL in the middle of a write."""
        branch = self.branches.pop(pick % len(self.branches))
        self.count_dead(branch)
        branch.die(tail=b"\x00\x00\x01" * (pick % 9))

    def lose_power(self, pick: int) -> None:
        """The end of the journal is gone."""
        branch = self.branches.pop(pick % len(self.branches))
        process = ServingProcess.objects.get(pk=branch.stores.process_id)
        posted = Position(process.drained_segment, process.drained_offset)
        written = branch.writer.written
        kept = written._replace(offset=written.offset * (pick % 11) // 10)
        # The database may be ahead of what the disk had of the journal: that is kept, too.
        self.count_dead(branch, max(kept, posted))
        branch.die(cut_to=kept.offset)

    def freeze(self, pick: int) -> None:
        """SIGSTOP, for longer than the lease."""
        branch = self.branches.pop(pick % len(self.branches))
        self.frozen.append(branch)
        ServingProcess.objects.filter(pk=branch.stores.process_id).update(
            lease_until=timezone.now() - timedelta(seconds=1)
        )
        self.count_dead(branch)

    @precondition(lambda self: self.frozen)
    @rule(pick=picks)
    def wake(self, pick: int) -> None:
        branch = self.frozen.pop(pick % len(self.frozen))
        self.branches.append(branch)
        self.surviving.pop(branch.stores.process_id, None)
        self.loop.spin()
        branch.step()

    @rule()
    def reap(self) -> None:
        self.reap_all()
