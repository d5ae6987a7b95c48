"""Draws and returns of one process's parts of budgets. For the writer's thread.

All amounts are nano-USD.
"""

from __future__ import annotations

import uuid
from typing import NamedTuple

import msgspec
from django.db import transaction

from accounts.models import ConfigChange
from gateway.core.budget_owner import Level
from gateway.core.spent import Spent
from gateway.models import Budget, ServingProcess
from gateway.selectors.spending import spent_by
from gateway.snapshot.types import SpendingLimits
from gateway.stores.allotments import move_amount, own_amounts
from gateway.stores.drain import Fenced
from gateway.stores.process import renew_lease


class OwnerAsk(NamedTuple):
    """What a process wants of one budget: first it returns, then it draws."""

    limits: SpendingLimits
    return_nusd: int = 0
    # What to take beyond what calls need, up to half of what is left.
    extra_nusd: int = 0


class CallAsk(NamedTuple):
    """A call that waits, and the budgets of which it needs this much each."""

    want_nusd: int
    owner_ids: tuple[str, ...]


class Ask(msgspec.Struct, frozen=True, kw_only=True):
    """What a process wants of budgets, all of one workspace."""

    owners: tuple[OwnerAsk, ...]
    # For each call its part of every budget is drawn, or nothing. Those that come first have the
    # first choice.
    calls: tuple[CallAsk, ...] = ()
    # Have other processes return what is idle, where less could be drawn than is needed.
    recalls: bool = False


class Allotted(NamedTuple):
    """What this process has of a budget now, what others have, and what was spent. is_over: more
    than the limit, which was higher when it was drawn."""

    amount_nusd: int
    elsewhere_nusd: int
    spent: Spent
    is_over: bool


class Settlement(NamedTuple):
    """allotted: by the id of each owner. lacking: for each call, the owners whose budgets left too
    little. at: the moment of what was spent. is_alone: no other process serves."""

    allotted: dict[str, Allotted]
    lacking: tuple[frozenset[str], ...]
    at: float
    is_alone: bool


class _State:
    """One budget while its row is held. left_nusd: what can be drawn."""

    __slots__ = ("ask", "drawn_nusd", "is_over", "left_nusd", "need_nusd", "own_nusd", "spent")

    def __init__(
        self, ask: OwnerAsk, drawn_nusd: int, own_nusd: int, spent: Spent, room_nusd: int
    ) -> None:
        self.ask = ask
        self.drawn_nusd = drawn_nusd
        self.own_nusd = own_nusd
        self.spent = spent
        self.left_nusd = room_nusd - drawn_nusd
        self.is_over = self.left_nusd < 0
        self.need_nusd = 0

    @property
    def elsewhere_nusd(self) -> int:
        return self.drawn_nusd - self.own_nusd

    def amount(self, *, is_alone: bool, is_for_calls: bool) -> int:
        """Return how much to draw; calls have their part of left_nusd already."""
        need_nusd, room_nusd = self.need_nusd, self.left_nusd + self.need_nusd
        if is_for_calls and not need_nusd:
            return 0
        want_nusd = need_nusd + self.ask.extra_nusd
        if want_nusd and is_alone:
            return max(room_nusd, need_nusd)
        return max(need_nusd, min(want_nusd, room_nusd // 2))


def settle_budgets(process_id: uuid.UUID, ask: Ask, at: float) -> Settlement:
    """Return, draw and say what there is, in one transaction.

    Raises Fenced when the process has been reaped, DatabaseError when it may or may not have
    happened; the next answer says.
    """
    with transaction.atomic():
        if not renew_lease(process_id):
            raise Fenced(str(process_id))
        alive = ServingProcess.objects.filter(state=ServingProcess.State.ALIVE)
        is_alone = not alive.exclude(pk=process_id).exists()
        own = own_amounts(process_id, [_pk(one) for one in ask.owners])
        # In order, so that two processes never wait for each other in a ring.
        states = {
            one.limits.owner.id: _open(process_id, one, own.get(_pk(one), 0), at)
            for one in sorted(ask.owners, key=_pk)
        }
        lacking = tuple(_divide(call, states) for call in ask.calls)
        short = frozenset().union(*lacking)
        for owner_id, state in states.items():
            amount_nusd = state.amount(is_alone=is_alone, is_for_calls=bool(ask.calls))
            if amount_nusd > 0:
                move_amount(process_id, uuid.UUID(owner_id), amount_nusd)
                state.own_nusd += amount_nusd
                state.drawn_nusd += amount_nusd
            if ask.recalls and owner_id in short and state.elsewhere_nusd:
                ref = uuid.UUID(owner_id).hex
                ConfigChange.objects.create(kind=ConfigChange.Kind.RECALL, ref=ref)
    allotted = {
        owner_id: Allotted(state.own_nusd, state.elsewhere_nusd, state.spent, state.is_over)
        for owner_id, state in states.items()
    }
    return Settlement(allotted, lacking, at, is_alone)


def _pk(ask: OwnerAsk) -> uuid.UUID:
    return uuid.UUID(ask.limits.owner.id)


def _open(process_id: uuid.UUID, ask: OwnerAsk, own_nusd: int, at: float) -> _State:
    """Hold the row of a budget, return to it, and read it. What is read afterwards is of one
    moment: who draws from it or drains a part of it waits until this transaction ends."""
    owner_id = _pk(ask)
    returned_nusd = min(ask.return_nusd, own_nusd)
    if not move_amount(process_id, owner_id, -returned_nusd):
        owner = ask.limits.owner
        is_member = owner.level is Level.MEMBER
        workspace_id = uuid.UUID(owner.workspace_id) if is_member else None
        made = Budget(pk=owner_id, workspace_id=workspace_id, member_id=owner.member_id)
        Budget.objects.bulk_create([made], ignore_conflicts=True)
        move_amount(process_id, owner_id, 0)
    drawn_nusd = Budget.objects.values_list("drawn_nusd", flat=True).get(pk=owner_id)
    limits = ask.limits
    limited = [period for period, limit, _ in limits.by_period(Spent(), at) if limit is not None]
    spent = spent_by(limits.owner, at, timezone=limits.timezone, periods=limited)
    room_nusd = room_within(limits, spent, at)
    return _State(ask, drawn_nusd, own_nusd - returned_nusd, spent, room_nusd)


def _divide(call: CallAsk, states: dict[str, _State]) -> frozenset[str]:
    """Give a call its part of all its budgets, or of none; return those that leave too little."""
    lacking = frozenset(
        owner_id for owner_id in call.owner_ids if states[owner_id].left_nusd < call.want_nusd
    )
    for owner_id in () if lacking else call.owner_ids:
        states[owner_id].left_nusd -= call.want_nusd
        states[owner_id].need_nusd += call.want_nusd
    return lacking


def room_within(limits: SpendingLimits, spent: Spent, at: float) -> int:
    """Return what the tightest limit leaves; less than nothing where it is exceeded."""
    rooms = [
        limit_nusd - spent_nusd
        for _, limit_nusd, spent_nusd in limits.by_period(spent, at)
        if limit_nusd is not None
    ]
    return min(rooms, default=0)
