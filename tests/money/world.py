"""A workspace, its processes and what is known about them on paper: the ground of the machine."""

from __future__ import annotations

import shutil
import tempfile
import uuid
from pathlib import Path
from typing import Any

from django.db import connection
from hypothesis.stateful import RuleBasedStateMachine, invariant

from accounts import ledger
from accounts.models import LedgerEntry, Purse, Wallet, Workspace
from gateway.core.money import Price, Usage
from gateway.models import CallRecord, ServingProcess
from gateway.services.proving import prove
from gateway.stores.reaping import Reaper
from tests.money.branch import Branch, SteppedLoop
from tests.money.paper import Paper, PaperCall, price_nusd

TABLES = (
    "gateway_callbody",
    "gateway_callrecord",
    "gateway_usagerollup",
    "gateway_latencyrollup",
    "gateway_servingprocess",
    "accounts_ledgerentry",
    "accounts_purse",
    "accounts_wallet",
    "accounts_configchange",
    "accounts_auditevent",
    "accounts_workspace",
)

Row = tuple[str, str, int]

CACHE_WRITE_PUSD = 1875


class MoneyWorld(RuleBasedStateMachine):
    """State, questions and invariants; the rules are in tests.money.machine."""

    def __init__(self) -> None:
        super().__init__()
        self.home = Path(tempfile.mkdtemp(prefix="tollhouse-money-"))
        self.loop = SteppedLoop()
        self.paper = Paper()
        self.branches: list[Branch] = []
        self.frozen: list[Branch] = []
        self.reaper = Reaper(watch_present_s=0, watch_absent_s=0)
        self.surviving: dict[str, Any] = {}  # of the dead: how far their journals go
        self.ends: list[tuple[Any, ...]] = []
        self.price = Price(1500, 500, 2500, (("cache_write", CACHE_WRITE_PUSD),))
        self.keys = [str(uuid.uuid4()), str(uuid.uuid4())]
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA synchronous = OFF")  # the disk is not what is tested here
        self.workspace = Workspace.objects.create(name="W", slug=uuid.uuid4().hex)
        self.workspace_id = str(self.workspace.pk)
        ledger.open_wallet(self.workspace)

    # What must be true

    @invariant()
    def ledger_agrees_with_paper(self) -> None:
        rows, wallet = self.rows(), self.wallet()
        ended = sum(self.check_row(*row) for row in rows)
        assert wallet.posted_nusd == self.paper.granted_nusd - ended
        entries = LedgerEntry.objects.order_by("sequence")
        running = 0
        for number, (sequence, amount, balance) in enumerate(
            entries.values_list("sequence", "amount_nusd", "balance_nusd"), start=1
        ):
            running += amount
            assert (sequence, balance) == (number, running)
        assert (wallet.posted_nusd, wallet.sequence) == (running, len(entries))
        self.check_purses(wallet, rows)

    def check_row(self, call_id: str, status: str, charge: int) -> int:
        """Compare a row with paper; return what it has cost."""
        call = self.paper.calls[call_id]
        if status == "in_progress":
            return 0
        if call.status == "running":
            # Aborted by a reaper; the process, which is frozen or will find out, thinks it runs.
            assert (status, charge) == ("platform_aborted", 0)
        elif call.status != "lost":
            assert (status == "platform_aborted") == (call.status == "aborted")
            # What is drawn from the wallet when the record is posted is only known then.
            assert call.charge_nusd <= charge <= call.cost_nusd
            call.charge_nusd = charge
        return charge

    def check_purses(self, wallet: Wallet, rows: list[Row]) -> None:
        """Purses add up, and each covers what its process has promised or spent."""
        purses = dict(Purse.objects.values_list("process_id", "amount_nusd"))
        assert wallet.drawn_nusd == sum(purses.values()) <= wallet.posted_nusd
        alive = self.alive()
        for branch in self.branches + self.frozen:
            process_id = branch.stores.process_id
            assert not (branch.stores.credits.is_fenced and process_id in alive)
            if process_id not in alive:
                continue
            held = self.paper.held_nusd(process_id)
            purse = purses.get(uuid.UUID(process_id), 0)
            assert purse >= held + self.undrained_nusd(process_id, rows)
            if branch in self.branches:
                assert branch.stores.credits.held_nusd(self.workspace_id) == held

    def teardown(self) -> None:
        try:
            self.come_to_rest()
        finally:
            for branch in self.branches + self.frozen:
                branch.stores.credits.close()
                branch.writer.die()
            self.loop.close()
            shutil.rmtree(self.home, ignore_errors=True)
            with connection.cursor() as cursor:
                cursor.execute("PRAGMA synchronous = FULL")
                for table in TABLES:
                    cursor.execute(f"DELETE FROM {table}")

    def come_to_rest(self) -> None:
        """Half of the processes stop in order, the rest is killed and reaped: all must be well."""
        for branch in self.frozen:
            self.surviving.pop(branch.stores.process_id, None)
            branch.step()
        self.branches += self.frozen
        self.frozen = []
        self.ledger_agrees_with_paper()
        while self.branches:
            branch = self.branches.pop()
            if len(self.branches) % 2:
                branch.stop()
                self.paper.bury(branch.stores.process_id)
            else:
                self.count_dead(branch)
                branch.die()
        self.reap_all()
        self.ledger_agrees_with_paper()
        wallet = self.wallet()
        assert wallet.drawn_nusd == 0
        assert not Purse.objects.exists()
        assert wallet.posted_nusd == self.paper.granted_nusd - self.paper.charges_nusd()
        ours = {call_id for call_id, call in self.paper.calls.items() if call.status != "lost"}
        assert {call_id for call_id, _, _ in self.rows()} == ours
        assert not CallRecord.objects.filter(status="in_progress").exists()
        assert prove().breaks == []

    def reap_all(self) -> None:
        """Reap until nobody is left to reap; it must be the dead, all the dead, only the dead."""
        reaped = {str(one.process_id) for one in self.reaper.run()}
        assert reaped == set(self.surviving)
        assert self.reaper.run() == []
        for process_id in reaped:
            self.paper.bury(process_id, self.surviving.pop(process_id))

    def count_dead(self, branch: Branch, kept: Any = None) -> None:
        """A reaper has to end this one, unless one already has."""
        if branch.stores.process_id in self.alive():
            self.surviving[branch.stores.process_id] = kept

    # Questions

    def wallet(self) -> Wallet:
        return Wallet.objects.get(pk=self.workspace.pk)

    def rows(self) -> list[Row]:
        values = CallRecord.objects.values_list("pk", "status", "charge_nusd")
        return [(str(pk), status, charge) for pk, status, charge in values]

    def alive(self) -> set[str]:
        alive = ServingProcess.objects.filter(state="alive")
        return {str(pk) for pk in alive.values_list("pk", flat=True)}

    def open_calls(self) -> dict[str, Branch]:
        """Return the calls that have not come to their end in the eyes of their process."""
        living = {branch.stores.process_id: branch for branch in self.branches}
        return {
            call_id: living[call.process_id]
            for call_id, call in self.paper.calls.items()
            if call.process_id in living and not call.is_released
        }

    def undrained_nusd(self, process_id: str, rows: list[Row]) -> int:
        """Return what calls of the process have cost that no row says yet."""
        told = {call_id for call_id, status, _ in rows if status != "in_progress"}
        return sum(
            call.charge_nusd
            for call_id, call in self.paper.calls.items()
            if call.process_id == process_id and call_id not in told
        )

    def owed_nusd(self) -> int:
        """Return what calls have cost that no process has paid and no row absorbed, at most."""
        told = {call_id for call_id, status, _ in self.rows() if status != "in_progress"}
        calls = self.paper.calls.items()
        return sum(
            call.cost_nusd - call.charge_nusd for call_id, call in calls if call_id not in told
        )

    def available_nusd(self) -> int:
        """Return what a new call may hold: all that is posted and that nobody has a claim to."""
        available, rows = self.wallet().posted_nusd, self.rows()
        for purse in Purse.objects.all():
            if str(purse.process_id) in self.surviving:
                available -= purse.amount_nusd
        for branch in self.branches:
            if branch.stores.credits.is_fenced:
                continue
            process_id = branch.stores.process_id
            available -= self.paper.held_nusd(process_id) + self.undrained_nusd(process_id, rows)
        return available

    def worth_nusd(self, prompt: int, output: int) -> int:
        dearest = max(self.price.input_pusd, self.price.cached_input_pusd, CACHE_WRITE_PUSD)
        return -(-(prompt * dearest + output * self.price.output_pusd) // 1000)

    def cost_nusd(self, call: PaperCall, usage: Usage) -> int:
        price = call.grant.price
        cached = min(usage.cached_tokens, usage.prompt_tokens)
        written = min(usage.others.get("cache_write", 0), usage.prompt_tokens - cached)
        fresh = usage.prompt_tokens - cached - written
        tokens = (fresh, cached, written, usage.completion_tokens)
        rates = (price.input_pusd, price.cached_input_pusd, CACHE_WRITE_PUSD, price.output_pusd)
        fee_nusd: int = sum(tool.uses * tool.nusd_each for tool in call.grant.tools)
        return price_nusd(tokens, rates) + fee_nusd
