"""What workspaces have decided of processors."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import Q

from accounts.ids import new_id
from accounts.models import Workspace
from keys.models import ApiKey


class MandatoryProcessor(models.Model):
    """A processor that all calls of a workspace go through, or those of a key."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    workspace = models.ForeignKey(
        Workspace, on_delete=models.CASCADE, related_name="mandatory_processors"
    )
    key = models.ForeignKey(
        ApiKey,
        on_delete=models.CASCADE,
        null=True,
        blank=True,
        related_name="mandatory_processors",
        help_text="Empty: all keys of the workspace.",
    )
    processor = models.CharField(max_length=40)
    options = models.JSONField(default=dict, blank=True)
    language = models.CharField(max_length=35, blank=True, help_text="Of calls that name none.")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering: ClassVar[list[str]] = ["created_at", "id"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(
                fields=["workspace", "processor"],
                condition=Q(key__isnull=True),
                name="gateway_mandatoryprocessor_of_workspace",
            ),
            models.UniqueConstraint(
                fields=["key", "processor"], name="gateway_mandatoryprocessor_of_key"
            ),
        ]

    def __str__(self) -> str:
        return self.processor


class ProcessorService(models.Model):
    """A service of a workspace's own that its calls may ask by `service_id`."""

    class Kind(models.TextChoices):
        PRESIDIO = "presidio", "Presidio: finds personal data"
        LANGUAGETOOL = "languagetool", "LanguageTool: corrects spelling and grammar"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    workspace = models.ForeignKey(
        Workspace, on_delete=models.CASCADE, related_name="processor_services"
    )
    name = models.SlugField(max_length=60)
    kind = models.CharField(max_length=12, choices=Kind.choices)
    url = models.CharField(max_length=500)
    secret = models.BinaryField(
        null=True,
        blank=True,
        editable=False,
        help_text="Encrypted: gateway.services.credential_encryption.",
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering: ClassVar[list[str]] = ["name"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(
                fields=["workspace", "name"],
                name="gateway_processorservice_name",
                violation_error_message="Another service of the workspace has this name.",
            ),
        ]

    def __str__(self) -> str:
        return self.name
