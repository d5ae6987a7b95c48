"""Bugs to plant in the ledger: each must be found by tests.money.machine.

A bug replaces one or two functions of the real code by plausible wrong ones. Where the real code
has two defences in a row, the bug takes down both: one alone would still hold.
"""

from __future__ import annotations

import math
import uuid
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

import msgspec
import pytest
from django.db import transaction
from django.db.models import F

from accounts import ledger
from accounts.models import LedgerEntry, Purse, Wallet
from gateway.accounting import settle as settling
from gateway.core import money
from gateway.core.money import Price, Usage
from gateway.journal.file import START
from gateway.journal.frames import HEADER, Frame, Segment
from gateway.journal.record import Record
from gateway.stores import backlog, drain, reaping, rollups, rows, shortfall, wallet_client
from gateway.stores.account import Account, Waiter
from gateway.stores.credit_reserver import CreditReserver
from gateway.stores.inserts import Insert
from gateway.stores.purse import Purse as PurseInMemory
from gateway.stores.purse_funding import ReservationTimeouts
from gateway.stores.record_log import RecordLog

Patch = pytest.MonkeyPatch
BUGS: dict[str, Callable[[Patch], None]] = {}


def bug(plant: Callable[[Patch], None]) -> Callable[[Patch], None]:
    BUGS[plant.__name__] = plant
    return plant


@bug
def draw_does_not_look_at_the_wallet(patch: Patch) -> None:
    def draw(workspace_id: Any, process_id: Any, *, want_nusd: int, **_: Any) -> int:
        ledger._fill_purse(workspace_id, process_id, want_nusd)
        Wallet.objects.filter(pk=workspace_id).update(drawn_nusd=F("drawn_nusd") + want_nusd)
        return want_nusd

    patch.setattr(ledger, "draw", draw)


@bug
def draw_is_not_counted_as_drawn(patch: Patch) -> None:
    real = ledger.draw

    def draw(workspace_id: Any, process_id: Any, **wish: Any) -> int:
        drawn = real(workspace_id, process_id, **wish)
        Wallet.objects.filter(pk=workspace_id).update(drawn_nusd=F("drawn_nusd") - drawn)
        return drawn

    patch.setattr(ledger, "draw", draw)


@bug
def money_given_back_stays_drawn(patch: Patch) -> None:
    def give_back(workspace_id: Any, process_id: Any, amount_nusd: int) -> None:
        purse = Purse.objects.filter(wallet_id=workspace_id, process_id=process_id)
        purse.update(amount_nusd=F("amount_nusd") - amount_nusd)

    patch.setattr(ledger, "give_back", give_back)


@bug
def hold_is_not_set_aside(patch: Patch) -> None:
    def hold(self: PurseInMemory, amount_nusd: int) -> bool:
        self.holds += 1
        return self.balance_nusd >= amount_nusd

    def release(self: PurseInMemory, hold_nusd: int, charge_nusd: int) -> int:
        self.holds -= 1
        self.balance_nusd -= charge_nusd
        return charge_nusd

    patch.setattr(PurseInMemory, "hold", hold)
    patch.setattr(PurseInMemory, "release", release)


@bug
def release_forgets_the_charge(patch: Patch) -> None:
    def release(self: PurseInMemory, hold_nusd: int, charge_nusd: int) -> int:
        self.held_nusd -= hold_nusd
        self.holds -= 1
        return min(charge_nusd, hold_nusd)

    patch.setattr(PurseInMemory, "release", release)


@bug
def release_gives_back_hold_and_charge(patch: Patch) -> None:
    def release(self: PurseInMemory, hold_nusd: int, charge_nusd: int) -> int:
        charge_nusd = min(charge_nusd, hold_nusd)
        self.held_nusd -= hold_nusd + charge_nusd
        self.holds -= 1
        self.balance_nusd -= charge_nusd
        return charge_nusd

    patch.setattr(PurseInMemory, "release", release)


@bug
def charge_beyond_the_hold_takes_money_of_other_calls(patch: Patch) -> None:
    def release(self: PurseInMemory, hold_nusd: int, charge_nusd: int) -> int:
        self.held_nusd -= hold_nusd
        self.holds -= 1
        self.balance_nusd -= charge_nusd
        return charge_nusd

    patch.setattr(PurseInMemory, "release", release)


@bug
def what_is_owed_is_charged_and_not_drawn(patch: Patch) -> None:
    patch.setattr(shortfall, "ledger", type("Rich", (), {"draw": staticmethod(_draw_nothing)}))


@bug
def what_is_owed_is_drawn_twice(patch: Patch) -> None:
    real = shortfall.cover

    def cover(process_id: Any, record: Any, losses: list[Any]) -> Any:
        real(process_id, record, losses)
        return real(process_id, record, losses)

    patch.setattr(drain, "cover", cover)


@bug
def what_is_owed_counts_as_paid(patch: Patch) -> None:
    """The writer believes that all of the charge came out of the purse in memory."""
    patch.setattr(drain, "_charges", _charges_with_owed)


@bug
def money_is_rounded_up(patch: Patch) -> None:
    patch.setattr(settling, "cost_nusd", lambda usage, price: -(-exact_pusd(usage, price) // 1000))


@bug
def money_is_a_float_rounded_half_up(patch: Patch) -> None:
    patch.setattr(
        settling, "cost_nusd", lambda usage, price: math.floor(exact_pusd(usage, price) / 1e3 + 0.5)
    )


@bug
def cached_tokens_are_paid_twice(patch: Patch) -> None:
    def cost_nusd(usage: Usage, price: Price) -> int:
        whole = Usage(usage.prompt_tokens, usage.completion_tokens)
        cached = min(usage.cached_tokens, usage.prompt_tokens) * price.cached_input_pusd
        return round((exact_pusd(whole, price) + cached) / 1000)

    patch.setattr(settling, "cost_nusd", cost_nusd)


@bug
def cache_writes_cost_what_other_prompt_tokens_do(patch: Patch) -> None:
    patch.setattr(money, "_others_pusd", lambda usage, price: 0)


@bug
def pages_are_on_the_record_and_not_in_the_price(patch: Patch) -> None:
    patch.setattr(settling, "tools_nusd", lambda tools: 0)


@bug
def call_may_end_twice(patch: Patch) -> None:
    def settled(self: RecordLog, record: Any) -> None:
        self._writer.backlog.append_surely(record)

    patch.setattr(RecordLog, "settled", settled)
    patch.setattr(drain, "_still_in_progress", lambda rows, records: (records, []))


@bug
def batch_is_replayed_without_its_position(patch: Patch) -> None:
    patch.setattr(drain, "move_position", lambda process_id, old, new: True)
    patch.setattr(reaping, "set_position", lambda process_id, position: None)
    replace_rows(patch)


@bug
def batch_is_not_atomic(patch: Patch) -> None:
    plain = type("NoTransaction", (), {"atomic": staticmethod(nullcontext)})
    patch.setattr("gateway.stores.drain.transaction", plain)


@bug
def batch_that_failed_is_dropped(patch: Patch) -> None:
    real = backlog.Backlog.drain

    def drain_once(self: backlog.Backlog) -> None:
        try:
            real(self)
        finally:
            self._batch = []

    patch.setattr(backlog.Backlog, "drain", drain_once)


@bug
def lost_commit_is_done_again(patch: Patch) -> None:
    patch.setattr(drain, "is_drained_to", lambda process_id, position: False)


@bug
def lost_draw_is_forgotten(patch: Patch) -> None:
    patch.setattr(wallet_client.WalletClient, "serve", _serve_without_memory)


@bug
def reaper_forgets_purses(patch: Patch) -> None:
    patch.setattr(ledger, "close_purses", lambda process_id: 0)


@bug
def reaper_forgets_running_calls(patch: Patch) -> None:
    patch.setattr(reaping, "_abort_running", lambda process_id, end: 0)


@bug
def reaper_does_not_replay(patch: Patch) -> None:
    patch.setattr(reaping, "_post_journal", lambda process_id, folder, start: (start, 0))


@bug
def reaper_replays_from_the_start(patch: Patch) -> None:
    real = reaping._post_journal
    patch.setattr(
        reaping, "_post_journal", lambda process_id, folder, start: real(process_id, folder, START)
    )
    replace_rows(patch)


@bug
def reaper_takes_the_living(patch: Patch) -> None:
    patch.setattr(reaping, "is_locked", lambda folder: False)


@bug
def dead_process_may_post(patch: Patch) -> None:
    """A process that was declared dead goes on as if it had not been."""
    patch.setattr(drain, "move_position", lambda process_id, old, new: True)
    patch.setattr(wallet_client, "renew_lease", lambda process_id: True)
    patch.setattr("gateway.stores.writer_steps.renew_lease", lambda process_id: True)


@bug
def torn_tail_is_believed(patch: Patch) -> None:
    """A frame that lacks its end keeps the journal from being read at all."""

    def frame_at(segment: Segment, offset: int) -> Frame:
        length = HEADER.unpack_from(segment.data.ljust(offset + 16, b"\x00"), offset)[2]
        begin = offset + HEADER.size
        payload = segment.data[begin : begin + length]
        record = msgspec.msgpack.decode(payload, type=Record)
        return Frame(record, None, offset, begin + length + 1)

    patch.setattr(Segment, "frame_at", frame_at)


@bug
def ledger_skips_a_number(patch: Patch) -> None:
    patch.setattr(
        ledger, "SPEND_WALLET", ledger.SPEND_WALLET.replace("sequence + %s", "sequence + 1 + %s")
    )


@bug
def usage_is_posted_to_the_newest_balance(patch: Patch) -> None:
    """Every entry of a batch shows the balance after the whole batch."""
    patch.setattr(
        ledger,
        "ENTER_USAGE",
        ledger.ENTER_USAGE.replace("posted_nusd + %s", "posted_nusd + 0 * %s"),
    )


@bug
def same_source_posts_again(patch: Patch) -> None:
    real = LedgerEntry.objects.create

    def create(**fields: Any) -> LedgerEntry:
        return real(**(fields | {"source": str(uuid.uuid4())}))

    patch.setattr(ledger, "_find_posted", lambda *of: None)
    patch.setattr(LedgerEntry.objects, "create", create)


@bug
def cancelled_hold_leaks(patch: Patch) -> None:
    patch.setattr(CreditReserver, "hold", _hold_without_return)


@bug
def refusal_is_remembered_too_long(patch: Patch) -> None:
    real = CreditReserver.__init__

    def begin(self: CreditReserver, inbox: Any, timeouts: Any = None) -> None:
        real(self, inbox, ReservationTimeouts(empty_s=60))

    patch.setattr(CreditReserver, "__init__", begin)


@bug
def idle_money_is_not_called_back(patch: Patch) -> None:
    patch.setattr(CreditReserver, "on_recall", lambda self, workspace_id: None)


@bug
def totals_count_a_batch_twice(patch: Patch) -> None:
    real = rollups.Rollups.write_rollups

    def write(self: rollups.Rollups) -> None:
        real(self)
        real(self)

    patch.setattr(rollups.Rollups, "write_rollups", write)


def replace_rows(patch: Patch) -> None:
    """Take down the second defence against a batch that comes again: the rows' primary key."""
    for name, own in (
        ("INSERT_CALLS", rows.OWN_COLUMNS),
        ("INSERT_PLAIN_CALLS", rows.PLAIN_COLUMNS),
    ):
        verb = "INSERT OR REPLACE"
        upsert = Insert("gateway_callrecord", rows.COMMON_COLUMNS, own, verb=verb)
        patch.setattr(drain, name, upsert)


def exact_pusd(usage: Usage, price: Price) -> int:
    cached = min(usage.cached_tokens, usage.prompt_tokens)
    written = min(usage.others.get("cache_write", 0), usage.prompt_tokens - cached)
    return (
        (usage.prompt_tokens - cached - written) * price.input_pusd
        + written * price.of("cache_write")
        + cached * price.cached_input_pusd
        + usage.completion_tokens * price.output_pusd
    )


def _draw_nothing(workspace_id: Any, process_id: Any, *, want_nusd: int, least_nusd: int) -> int:
    return want_nusd


def _charges_with_owed(records: Sequence[Any]) -> dict[str, int]:
    return {
        workspace_id: sum(
            one.charge_nusd + one.owed_nusd for one in records if one.workspace_id == workspace_id
        )
        for workspace_id in {one.workspace_id for one in records}
    }


async def _hold_without_return(
    self: CreditReserver, workspace_id: str, *, want_nusd: int, least_nusd: int
) -> int:
    if self.try_hold(workspace_id, want_nusd):
        return want_nusd
    account = self._accounts.setdefault(workspace_id, Account())
    waiter = Waiter(want_nusd, least_nusd, self._loop.create_future())
    account.waiters.append(waiter)
    if not account.drawing:
        self._funding.draw(workspace_id, account)
    return await waiter.granted


def _serve_without_memory(
    self: wallet_client.WalletClient,
    draws: list[wallet_client.Draw],
    returns: list[wallet_client.GiveBack],
) -> list[wallet_client.Answer]:
    with transaction.atomic():
        for wish in returns:
            self._give_back(wish)
        answers = []
        for draw in draws:
            before = ledger.purse_amounts(self._process_id, [uuid.UUID(draw.workspace_id)])
            has_more, drawn = self._draw(draw)
            after = ledger.purse_amounts(self._process_id, [uuid.UUID(draw.workspace_id)])
            own = sum(after.values())
            gained = own - sum(before.values())
            answers.append(wallet_client.Answer(draw, gained, has_more, drawn - own))
    return answers
