"""Stored files: a row each, and what each workspace stores in all."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import Q

from gateway.core.file_ids import write_file_id
from gateway.models.api_object import ApiObject

# Purposes that callers may give, and those of files that the gateway makes.
UPLOAD_PURPOSES = ("assistants", "batch", "user_data", "vision")
OUTPUT_PURPOSES = ("batch_output",)
PURPOSES = (*UPLOAD_PURPOSES, *OUTPUT_PURPOSES)


class StoredFile(ApiObject):
    """A file of a workspace. Its bytes are elsewhere (gateway.file_storage), encrypted.

    The row is inserted before the first byte is written, and deleted after the last one is gone. A
    deleted or expired one is kept for a while, so that a list can go on behind it.
    """

    class State(models.TextChoices):
        UPLOADING = "uploading"
        READY = "ready"
        DELETED = "deleted"
        EXPIRED = "expired"

    key_id = models.UUIDField(null=True, blank=True, help_text="The API key that uploaded it.")
    uploaded_by = models.CharField(max_length=254, blank=True, help_text="The member who did.")
    filename = models.CharField(max_length=255)
    purpose = models.CharField(max_length=20)
    content_type = models.CharField(max_length=100, blank=True)
    size_bytes = models.BigIntegerField(default=0)
    sha256 = models.CharField(max_length=64, blank=True, help_text="Of the content.")
    state = models.CharField(max_length=10, choices=State.choices, default=State.UPLOADING)
    storage_name = models.CharField(
        max_length=64, blank=True, help_text="Where its bytes are; empty once they are gone."
    )
    expires_at = models.DateTimeField(null=True, blank=True)
    touched_at = models.DateTimeField(help_text="Until then it was written to, or changed.")
    reserved_bytes = models.BigIntegerField(
        null=True, blank=True, help_text="Of the quota, while it is uploaded."
    )

    class Meta(ApiObject.Meta):
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["workspace_id", "state", "id"], name="gateway_file_by_workspace"),
            models.Index(
                fields=["workspace_id", "purpose", "state", "id"], name="gateway_file_by_purpose"
            ),
            # What the cleanup looks for.
            models.Index(
                fields=["state", "touched_at"],
                name="gateway_file_not_ready",
                condition=~Q(state="ready"),
            ),
            models.Index(
                fields=["expires_at"],
                name="gateway_file_by_expiry",
                condition=Q(state="ready", expires_at__isnull=False),
            ),
            models.Index(
                fields=["touched_at"],
                name="gateway_file_with_key",
                condition=~Q(idempotency_key=""),
            ),
            models.Index(fields=["storage_name"], name="gateway_file_by_storage_name"),
        ]

    def __str__(self) -> str:
        return f"{self.public_id} {self.state}"

    @property
    def public_id(self) -> str:
        return write_file_id(self.pk)


class WorkspaceStorage(models.Model):
    """What a workspace stores, what it may store, and the key that its files are encrypted with.

    files, size_bytes: of its rows that are ready, changed in the transaction that changes these.
    reserved_*: for uploads that run, likewise.
    max_*: null: the installation's limit.
    """

    workspace_id = models.UUIDField(primary_key=True, editable=False)
    data_key = models.BinaryField(
        editable=False, help_text="Encrypted: gateway.services.credential_encryption."
    )
    files = models.BigIntegerField(default=0)
    size_bytes = models.BigIntegerField(default=0)
    reserved_files = models.BigIntegerField(default=0)
    reserved_bytes = models.BigIntegerField(default=0)
    max_file_bytes = models.BigIntegerField(null=True, blank=True)
    max_files = models.BigIntegerField(null=True, blank=True)
    max_storage_bytes = models.BigIntegerField(null=True, blank=True)

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.CheckConstraint(
                condition=Q(files__gte=0) & Q(size_bytes__gte=0),
                name="gateway_workspacestorage_not_negative",
            ),
            models.CheckConstraint(
                condition=Q(reserved_files__gte=0) & Q(reserved_bytes__gte=0),
                name="gateway_workspacestorage_reserved",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.files} files, {self.size_bytes} bytes of {self.workspace_id}"


class FileStorageMark(models.Model):
    """What the folder or bucket of the files says of itself. A process whose folder says something
    else has another one, and must not use it."""

    name = models.CharField(max_length=40, primary_key=True)
    mark = models.CharField(max_length=64)
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.mark
