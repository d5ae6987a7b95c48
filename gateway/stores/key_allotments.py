"""What each process may spend of the budgets of keys, in the database.

    spent (the rollups of calls) + drawn (all allotments) <= limit, for each day, month and total

A draw (gateway.stores.key_budget_client) checks this and takes its part in one conditional UPDATE.
A drained batch moves from drawn to spent in the transaction that writes its rollups. So it holds
however many processes draw, and for calls that run. All amounts are nano-USD.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from django.db.models import F

from accounts.ledger import Spend
from gateway.models import KeyAllotment, KeyBudget


def spend_allotments(process_id: uuid.UUID, spends: Sequence[Spend]) -> None:
    """Take what calls have cost out of the process's allotments, inside the transaction that counts
    it as spent."""
    budgets = KeyBudget.objects.filter(pk__in=[spend.key_id for spend in spends])
    keys = set(budgets.values_list("pk", flat=True)) if spends else set()
    if not keys:
        return
    found = KeyAllotment.objects.filter(process_id=process_id, budget_id__in=keys)
    amounts = dict(found.values_list("budget_id", "amount_nusd"))
    # In order, so that two processes never wait for each other in a ring.
    for spend in sorted(spends, key=lambda spend: spend.key_id):
        if spend.key_id in keys:
            taken_nusd = min(spend.charge_nusd, amounts.get(spend.key_id, 0))
            if taken_nusd:
                amounts[spend.key_id] -= taken_nusd
            # Also where nothing is taken: a draw that has not seen this spending must look again.
            move_amount(process_id, spend.key_id, -taken_nusd)


def close_allotments(process_id: uuid.UUID) -> int:
    """Return everything of a process that has ended; return how much that was."""
    found = KeyAllotment.objects.filter(process_id=process_id).order_by("budget_id")
    allotments = list(found.values_list("budget_id", "amount_nusd"))
    for key_id, amount_nusd in allotments:
        move_amount(process_id, key_id, -amount_nusd)
    found.delete()
    return sum(amount_nusd for _, amount_nusd in allotments)


def own_amount(process_id: uuid.UUID, key_id: uuid.UUID) -> int:
    own = KeyAllotment.objects.filter(budget_id=key_id, process_id=process_id)
    return own.values_list("amount_nusd", flat=True).first() or 0


def move_amount(process_id: uuid.UUID, key_id: uuid.UUID, amount_nusd: int) -> None:
    """Change what the process has, and what is drawn, by the same amount."""
    KeyBudget.objects.filter(pk=key_id).update(
        drawn_nusd=F("drawn_nusd") + amount_nusd, version=F("version") + 1
    )
    if amount_nusd:
        add_amount(process_id, key_id, amount_nusd)


def add_amount(process_id: uuid.UUID, key_id: uuid.UUID, amount_nusd: int) -> None:
    own = KeyAllotment.objects.filter(budget_id=key_id, process_id=process_id)
    if not own.update(amount_nusd=F("amount_nusd") + amount_nusd):
        KeyAllotment.objects.create(
            budget_id=key_id, process_id=process_id, amount_nusd=amount_nusd
        )
