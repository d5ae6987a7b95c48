"""What files and batches have in common: a workspace makes them through the API."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import Q

from accounts.ids import new_id


class ApiObject(models.Model):
    """One that a workspace has, made once for an idempotency key. Its IDs are in the order in
    which they were made."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    workspace_id = models.UUIDField()
    idempotency_key = models.CharField(max_length=255, blank=True)
    created_at = models.DateTimeField()

    class Meta:
        abstract = True
        ordering: ClassVar[list[str]] = ["-id"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(
                fields=["workspace_id", "idempotency_key"],
                condition=~Q(idempotency_key=""),
                name="%(app_label)s_%(class)s_one_per_key",
            ),
        ]
