"""What each process may spend of budgets, in the database.

    spent (the rollups of calls) + drawn (all allotments) <= limit

for each day, week, month and total of each owner: key, member and workspace. A draw
(gateway.stores.budget_client) holds the rows of its budgets while it checks this and takes its
part. A drained batch moves from drawn to spent in the transaction that writes its rollups. So it
holds however many processes draw, and for calls that run. All amounts are nano-USD.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Collection, Sequence
from typing import NamedTuple

from django.db import connection
from django.db.models import F

from accounts.ids import stored_id
from accounts.ledger import Spend
from gateway.models import Allotment, Budget
from keys.models import ApiKey

HAS_ANY = "SELECT 1 FROM gateway_allotment WHERE process_id = %s AND amount_nusd > 0 LIMIT 1"


class _Own(NamedTuple):
    """What a process has of one budget."""

    owner_id: uuid.UUID
    amount_nusd: int
    workspace_id: uuid.UUID | None
    member_id: int | None


def spend_allotments(process_id: uuid.UUID, spends: Sequence[Spend]) -> None:
    """Take what calls have cost out of the process's allotments, inside the transaction that counts
    it as spent."""
    if not spends or not _has_any(process_id):
        return
    keys = {spend.key_id for spend in spends}
    found = _find_own(process_id, keys, {spend.workspace_id for spend in spends})
    if not found:
        return
    members: dict[tuple[uuid.UUID | None, int | None], uuid.UUID]
    members = {(one.workspace_id, one.member_id): one.owner_id for one in found if one.member_id}
    made_by = _makers_of(keys) if members else {}
    charges: Counter[uuid.UUID | None] = Counter()
    for spend in spends:
        member = members.get((spend.workspace_id, made_by.get(spend.key_id)))
        for owner_id in (spend.key_id, spend.workspace_id, member):
            charges[owner_id] += spend.charge_nusd
    # In order, so that two processes never wait for each other in a ring.
    for own in sorted(found):
        if taken_nusd := min(charges[own.owner_id], own.amount_nusd):
            move_amount(process_id, own.owner_id, -taken_nusd)


def close_allotments(process_id: uuid.UUID) -> int:
    """Return everything of a process that has ended; return how much that was."""
    found = Allotment.objects.filter(process_id=process_id).order_by("budget_id")
    allotments = list(found.values_list("budget_id", "amount_nusd"))
    for owner_id, amount_nusd in allotments:
        move_amount(process_id, owner_id, -amount_nusd)
    found.delete()
    return sum(amount_nusd for _, amount_nusd in allotments)


def own_amounts(process_id: uuid.UUID, owner_ids: Collection[uuid.UUID]) -> dict[uuid.UUID, int]:
    """Return what the process has of each of these budgets. Nobody else changes that while it has
    its lease."""
    own = Allotment.objects.filter(process_id=process_id, budget_id__in=owner_ids)
    return dict(own.values_list("budget_id", "amount_nusd"))


def move_amount(process_id: uuid.UUID, owner_id: uuid.UUID, amount_nusd: int) -> bool:
    """Change what the process has, and what is drawn, by the same amount; hold the budget's row
    until the transaction ends. False: there is no such budget."""
    budget = Budget.objects.filter(pk=owner_id)
    if not budget.update(drawn_nusd=F("drawn_nusd") + amount_nusd):
        return False
    own = Allotment.objects.filter(budget_id=owner_id, process_id=process_id)
    if amount_nusd and not own.update(amount_nusd=F("amount_nusd") + amount_nusd):
        Allotment.objects.create(budget_id=owner_id, process_id=process_id, amount_nusd=amount_nusd)
    return True


def _has_any(process_id: uuid.UUID) -> bool:
    """Return whether the process has a part of any budget. Where there are no budgets, this is all
    that a batch asks, and building the query of _find_own would cost it more than any other."""
    with connection.cursor() as cursor:
        cursor.execute(HAS_ANY, (stored_id(process_id),))
        return cursor.fetchone() is not None


def _find_own(
    process_id: uuid.UUID, keys: Collection[uuid.UUID], workspaces: Collection[uuid.UUID]
) -> list[_Own]:
    """Return what the process has of the budgets of these keys, their members and workspaces."""
    own = Allotment.objects.filter(process_id=process_id, amount_nusd__gt=0).values_list(
        "budget_id", "amount_nusd", "budget__workspace_id", "budget__member_id"
    )
    made_by = ApiKey.objects.filter(pk__in=keys).order_by().values("created_by_id")
    of_members = own.filter(budget__workspace_id__in=workspaces, budget__member_id__in=made_by)
    found = own.filter(budget_id__in=[*keys, *workspaces]).union(of_members)
    return [_Own(*row) for row in found]


def _makers_of(keys: Collection[uuid.UUID]) -> dict[uuid.UUID, int | None]:
    made = ApiKey.objects.filter(pk__in=keys, created_by__isnull=False).order_by()
    return dict(made.values_list("pk", "created_by_id"))
