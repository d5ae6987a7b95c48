"""Batches: many requests in a file, worked off in the background, and what has come of them."""

from __future__ import annotations

import re
from typing import ClassVar
from uuid import UUID

from django.db import models
from django.db.models import Q

from accounts.ids import new_id
from gateway.models.api_object import ApiObject

PREFIX = "batch_"
_ID = re.compile(f"{PREFIX}([0-9a-f]{{32}})")


class Batch(ApiObject):
    """The requests of one input file, made as calls of the key that created it.

    Lines are asked for in windows. One worker has the lease at a time, and writes down what has
    come of a window in one transaction with how far it has got.
    """

    class Status(models.TextChoices):
        VALIDATING = "validating"
        IN_PROGRESS = "in_progress"
        FINALIZING = "finalizing"
        COMPLETED = "completed"
        FAILED = "failed"
        EXPIRED = "expired"
        CANCELLING = "cancelling"
        CANCELLED = "cancelled"

    key_id = models.UUIDField(help_text="The API key that its calls are made with.")
    ip = models.CharField(max_length=45, blank=True, help_text="From where it was created.")
    endpoint = models.CharField(max_length=100, help_text="Such as /v1/chat/completions.")
    input_file = models.UUIDField()
    output_file = models.UUIDField(null=True, blank=True)
    error_file = models.UUIDField(null=True, blank=True)
    output_expires_after_s = models.IntegerField(
        null=True, blank=True, help_text="Of the files of results; null: TOLLHOUSE_BATCH_DAYS."
    )
    metadata = models.JSONField(default=dict)
    status = models.CharField(max_length=12, choices=Status.choices, default=Status.VALIDATING)
    errors = models.JSONField(default=list, help_text="[{code, message, param, line}]")

    total = models.IntegerField(default=0)
    completed = models.IntegerField(default=0)
    failed = models.IntegerField(default=0)

    expires_at = models.DateTimeField(help_text="The end of the completion window.")
    in_progress_at = models.DateTimeField(null=True, blank=True)
    finalizing_at = models.DateTimeField(null=True, blank=True)
    cancelling_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    # How far it has got: what comes next in the input file, and earlier lines that wait for
    # another attempt, each as [number, offset, bytes].
    next_line = models.IntegerField(default=0)
    next_offset = models.BigIntegerField(default=0)
    waiting_lines = models.JSONField(default=list)
    # Lines below may have been asked for, though nothing has come of them yet.
    asked_lines = models.IntegerField(default=0)
    # Why the remaining lines are not asked for: the code and the message of their error.
    stop_code = models.CharField(max_length=60, blank=True)
    stop_message = models.TextField(blank=True)

    not_before = models.DateTimeField(null=True, blank=True, help_text="It waits until then.")
    worked_at = models.DateTimeField(null=True, blank=True)
    lease_owner = models.CharField(max_length=64, blank=True)
    lease_ends_at = models.DateTimeField(null=True, blank=True)

    class Meta(ApiObject.Meta):
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["workspace_id", "id"], name="gateway_batch_by_workspace"),
            models.Index(
                fields=["worked_at"],
                name="gateway_batch_to_do",
                condition=Q(ended_at=None),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.public_id} {self.status}"

    @property
    def public_id(self) -> str:
        return PREFIX + self.pk.hex

    @property
    def is_over(self) -> bool:
        return self.ended_at is not None


class BatchPart(models.Model):
    """What has come of some lines, until it is written to the files of results. Encrypted as those
    are, with the key of the workspace."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    batch = models.ForeignKey(Batch, on_delete=models.CASCADE, related_name="parts")
    output = models.BinaryField(default=b"")
    errors = models.BinaryField(default=b"")
    output_bytes = models.BigIntegerField(default=0, help_text="Before encryption.")
    errors_bytes = models.BigIntegerField(default=0, help_text="Before encryption.")

    def __str__(self) -> str:
        return f"{self.id} of {self.batch_id}"


def read_batch_id(text: str) -> UUID | None:
    """Return the row's UUID; None for what was never an ID of ours."""
    match = _ID.fullmatch(text)
    return None if match is None else UUID(match[1])
