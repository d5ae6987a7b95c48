"""Remote MCP servers whose tools calls of a workspace may have."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import Q

from accounts.ids import new_id


class McpServer(models.Model):
    """tools: as the server described them when they were last listed: [{name, description,
    schema}]. What it describes otherwise later on takes effect when they are listed again.
    allowed_tools: their names; empty: all."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    workspace = models.ForeignKey(
        "accounts.Workspace", on_delete=models.CASCADE, related_name="mcp_servers"
    )
    name = models.SlugField(max_length=30)
    url = models.CharField(max_length=400)
    enabled = models.BooleanField(default=True)
    by_default = models.BooleanField(
        default=False, help_text="Calls have its tools without naming it."
    )
    header = models.CharField(
        max_length=60, default="authorization", help_text="The header with the credential."
    )
    secret = models.BinaryField(
        null=True,
        blank=True,
        editable=False,
        help_text="Encrypted: gateway.services.credential_encryption.",
    )
    hint = models.CharField(max_length=4, blank=True, help_text="The last characters.")
    tools = models.JSONField(default=list, blank=True)
    tools_listed_at = models.DateTimeField(null=True, blank=True)
    allowed_tools = models.JSONField(default=list, blank=True)
    price_nusd = models.BigIntegerField(default=0, help_text="Price of a use; 0: free.")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering: ClassVar[list[str]] = ["name", "id"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(
                fields=["workspace", "name"],
                name="gateway_mcpserver_name",
                violation_error_message="Another MCP server of the workspace has this name.",
            ),
            models.CheckConstraint(condition=Q(price_nusd__gte=0), name="gateway_mcpserver_price"),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def plugin(self) -> str:
        """What calls name it."""
        return f"mcp:{self.name}"
