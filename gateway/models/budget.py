"""What serving processes may spend of the budgets of keys."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import Q


class KeyBudget(models.Model):
    """One key's: what its processes have drawn and not spent yet (docs/adr/0049)."""

    key_id = models.UUIDField(primary_key=True, editable=False)
    drawn_nusd = models.BigIntegerField(default=0)
    # Changes with drawn_nusd: a draw counts on what it has read.
    version = models.BigIntegerField(default=0)

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.CheckConstraint(
                condition=Q(drawn_nusd__gte=0), name="gateway_keybudget_not_negative"
            ),
        ]

    def __str__(self) -> str:
        return f"budget of {self.key_id}: {self.drawn_nusd} nUSD drawn"


class KeyAllotment(models.Model):
    """The part of it that one process has."""

    budget = models.ForeignKey(KeyBudget, on_delete=models.CASCADE, related_name="allotments")
    process_id = models.UUIDField(db_index=True)
    amount_nusd = models.BigIntegerField(default=0)

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(
                fields=["budget", "process_id"], name="gateway_keyallotment_one_per_process"
            ),
            models.CheckConstraint(
                condition=Q(amount_nusd__gte=0), name="gateway_keyallotment_not_negative"
            ),
        ]

    def __str__(self) -> str:
        return f"allotment of {self.process_id}: {self.amount_nusd} nUSD"
