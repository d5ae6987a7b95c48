"""What is set of server tools, for the installation and for workspaces."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import Q

from accounts.ids import new_id


class ToolSetting(models.Model):
    """A server tool: what answers it, and what it costs.

    workspace_id: of a workspace that has settings of its own; null for the installation. A
    workspace's row with a backend takes the place of the installation's; one without only disables
    the tool there, or does nothing.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    workspace = models.ForeignKey(
        "accounts.Workspace", on_delete=models.CASCADE, null=True, blank=True, related_name="tools"
    )
    tool = models.SlugField(max_length=40, help_text="A name of gateway.tools.registry.")
    enabled = models.BooleanField(default=True)
    backend = models.CharField(max_length=20, blank=True)
    base_url = models.CharField(max_length=400, blank=True)
    secret = models.BinaryField(
        null=True,
        blank=True,
        editable=False,
        help_text="Encrypted: gateway.services.credential_encryption.",
    )
    hint = models.CharField(max_length=4, blank=True, help_text="The last characters.")
    model = models.CharField(
        max_length=200, blank=True, help_text="Public name of the model that makes images."
    )
    documents = models.JSONField(
        default=list, blank=True, help_text="Of a static index: [{title, url, text}]."
    )
    price_nusd = models.BigIntegerField(default=0, help_text="Price of a unit; 0: free.")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering: ClassVar[list[str]] = ["tool", "id"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(
                fields=["tool"],
                condition=Q(workspace=None),
                name="gateway_toolsetting_installation",
            ),
            models.UniqueConstraint(
                fields=["workspace", "tool"], name="gateway_toolsetting_workspace"
            ),
            models.CheckConstraint(
                condition=Q(price_nusd__gte=0), name="gateway_toolsetting_price"
            ),
        ]

    def __str__(self) -> str:
        return self.tool
