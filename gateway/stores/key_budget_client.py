"""Draws and returns of one process's parts of the budgets of keys. For the writer's thread.

All amounts are nano-USD.
"""

from __future__ import annotations

import uuid
from typing import NamedTuple

import msgspec
from django.db import transaction
from django.db.models import F

from accounts.models import ConfigChange
from gateway.core.spent import Spent
from gateway.models import KeyBudget, ServingProcess
from gateway.selectors.key_spending import spent_by
from gateway.snapshot.types import SpendingLimits
from gateway.stores.drain import Fenced
from gateway.stores.key_allotments import add_amount, move_amount, own_amount
from gateway.stores.process import renew_lease

TRIES = 20


class Ask(msgspec.Struct, frozen=True, kw_only=True):
    """What a process wants of a key's budget: first it returns, then it draws."""

    key_id: str
    limits: SpendingLimits
    return_nusd: int = 0
    # Less than this is of no use; 0: nothing is to be drawn.
    least_nusd: int = 0
    # What calls wait for, and what to take beyond that, up to half of what is left.
    need_nusd: int = 0
    extra_nusd: int = 0
    # Have other processes return what is idle, where less could be drawn than is needed.
    recalls: bool = False


class Allotted(NamedTuple):
    """What this process has now, what others have, what was spent by `at`; whether no other process
    serves."""

    amount_nusd: int
    elsewhere_nusd: int
    spent: Spent
    at: float
    is_alone: bool


def settle_budget(process_id: uuid.UUID, ask: Ask, at: float) -> Allotted:
    """Return, draw and say what there is, in one transaction.

    Raises Fenced when the process has been reaped, DatabaseError when it may or may not have
    happened; the next answer says.
    """
    key_id = uuid.UUID(ask.key_id)
    with transaction.atomic():
        if not renew_lease(process_id):
            raise Fenced(str(process_id))
        KeyBudget.objects.get_or_create(pk=key_id)
        own = own_amount(process_id, key_id)
        if returned_nusd := min(ask.return_nusd, own):
            move_amount(process_id, key_id, -returned_nusd)
        alive = ServingProcess.objects.filter(state=ServingProcess.State.ALIVE)
        is_alone = not alive.exclude(pk=process_id).exists()
        left_nusd = own_amount(process_id, key_id)
        spent = _draw(process_id, key_id, ask, at, takes_all=is_alone)
        amount_nusd = own_amount(process_id, key_id)
        drawn_nusd = KeyBudget.objects.values_list("drawn_nusd", flat=True).get(pk=key_id)
        lacks_some = amount_nusd - left_nusd < ask.need_nusd
        if ask.recalls and lacks_some and drawn_nusd > amount_nusd:
            ConfigChange.objects.create(kind=ConfigChange.Kind.RECALL, ref=key_id.hex)
    return Allotted(amount_nusd, drawn_nusd - amount_nusd, spent, at, is_alone)


def _draw(
    process_id: uuid.UUID, key_id: uuid.UUID, ask: Ask, at: float, *, takes_all: bool
) -> Spent:
    """Draw what the limits leave; return what was spent."""
    for _ in range(TRIES):
        budget = KeyBudget.objects.get(pk=key_id)
        spent = spent_by(key_id, at)
        room_nusd = room_within(ask.limits, spent) - budget.drawn_nusd
        want_nusd = ask.need_nusd + ask.extra_nusd
        if takes_all:
            want_nusd = room_nusd
        else:
            want_nusd = min(max(ask.need_nusd, min(want_nusd, room_nusd // 2)), room_nusd)
        if not ask.least_nusd or want_nusd < ask.least_nusd:
            return spent
        unchanged = KeyBudget.objects.filter(pk=key_id, version=budget.version)
        if unchanged.update(drawn_nusd=F("drawn_nusd") + want_nusd, version=F("version") + 1):
            add_amount(process_id, key_id, want_nusd)
            return spent
    return spent_by(key_id, at)


def room_within(limits: SpendingLimits, spent: Spent) -> int:
    """Return what the tightest limit leaves; less than nothing where it is exceeded."""
    rooms = [
        limit_nusd - spent_nusd
        for limit_nusd, spent_nusd in (
            (limits.daily_nusd, spent.day_nusd),
            (limits.monthly_nusd, spent.month_nusd),
            (limits.total_nusd, spent.total_nusd - limits.total_baseline_nusd),
        )
        if limit_nusd is not None
    ]
    return min(rooms, default=0)
