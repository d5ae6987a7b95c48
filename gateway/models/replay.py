"""Answers kept so that the same request, sent again, gets the same answer and no second charge."""

from __future__ import annotations

from typing import ClassVar

from django.db import models


class KeptAnswer(models.Model):
    """One use of an Idempotency-Key by a workspace.

    Inserted before the call is admitted, which makes the key ours; completed when the answer is
    whole, deleted when there is none worth keeping. A running one of a dead process is void.
    """

    workspace_id = models.UUIDField()
    idempotency_key = models.CharField(max_length=255)
    fingerprint = models.CharField(max_length=64, help_text="SHA-256 of path and body.")
    call_id = models.UUIDField()
    process_id = models.UUIDField()
    finished = models.BooleanField(default=False)
    status = models.PositiveSmallIntegerField(default=0)
    headers = models.JSONField(default=list)
    body = models.BinaryField(default=b"")
    created_at = models.DateTimeField()

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(
                fields=["workspace_id", "idempotency_key"],
                name="gateway_keptanswer_one_per_key",
            ),
        ]
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["created_at"], name="gateway_keptanswer_by_age"),
        ]

    def __str__(self) -> str:
        return f"{self.idempotency_key}: {self.call_id}"
