"""What server processes may spend of the budgets of keys, members and workspaces."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import Q


class Budget(models.Model):
    """One owner's: what its processes have drawn and not spent yet (docs/adr/0067).

    owner_id: gateway.core.budget_owner. workspace_id, member_id: of a member's budget alone; the
    second is the user's.
    """

    owner_id = models.UUIDField(primary_key=True, editable=False)
    workspace_id = models.UUIDField(null=True, blank=True)
    member_id = models.BigIntegerField(null=True, blank=True)
    drawn_nusd = models.BigIntegerField(default=0)

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.CheckConstraint(
                condition=Q(drawn_nusd__gte=0), name="gateway_budget_not_negative"
            ),
            models.UniqueConstraint(
                fields=["workspace_id", "member_id"],
                condition=Q(member_id__isnull=False),
                name="gateway_budget_one_per_member",
            ),
        ]

    def __str__(self) -> str:
        return f"budget of {self.owner_id}: {self.drawn_nusd} nUSD drawn"


class Allotment(models.Model):
    """The part of it that one process has."""

    budget = models.ForeignKey(Budget, on_delete=models.CASCADE, related_name="allotments")
    process_id = models.UUIDField(db_index=True)
    amount_nusd = models.BigIntegerField(default=0)

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(
                fields=["budget", "process_id"], name="gateway_allotment_one_per_process"
            ),
            models.CheckConstraint(
                condition=Q(amount_nusd__gte=0), name="gateway_allotment_not_negative"
            ),
        ]

    def __str__(self) -> str:
        return f"allotment of {self.process_id}: {self.amount_nusd} nUSD"
