"""What providers are shown: the credentials of each."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import Q

from accounts.ids import new_id
from gateway.models.catalogue import Provider

MAX_WEIGHT = 100


class ProviderCredential(models.Model):
    """One of a provider's credentials. Of those that are enabled each serves its share of calls."""

    class Source(models.TextChoices):
        STORED = "stored", "Stored encrypted"
        ENV = "env", "Environment variable of the server"
        DYNAMIC = "dynamic", "Sent with each call"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    provider = models.ForeignKey(Provider, on_delete=models.CASCADE, related_name="credentials")
    name = models.SlugField(max_length=60, default="default")
    source = models.CharField(max_length=8, choices=Source.choices, default=Source.STORED)
    variable = models.CharField(
        max_length=100, blank=True, help_text="The name of one that is not stored."
    )
    secret = models.BinaryField(
        null=True,
        blank=True,
        editable=False,
        help_text="Encrypted: gateway.services.credential_encryption.",
    )
    hint = models.CharField(max_length=4, blank=True, help_text="The last characters.")
    weight = models.PositiveSmallIntegerField(default=1)
    requests_per_minute = models.PositiveIntegerField(null=True, blank=True)
    max_concurrent = models.PositiveIntegerField(null=True, blank=True)
    enabled = models.BooleanField(default=True)
    created_at = models.DateTimeField(auto_now_add=True)
    # As processes see it: a code of gateway.core.errors, empty while it serves.
    failure = models.CharField(max_length=60, blank=True)
    failure_message = models.CharField(max_length=300, blank=True)
    failed_at = models.DateTimeField(null=True, blank=True)
    rests_until = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering: ClassVar[list[str]] = ["created_at", "id"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(
                fields=["provider", "name"],
                name="gateway_providercredential_name",
                violation_error_message="Another credential of the provider has this name.",
            ),
            models.CheckConstraint(
                condition=Q(weight__gte=1) & Q(weight__lte=MAX_WEIGHT),
                name="gateway_providercredential_weight",
            ),
            models.CheckConstraint(
                condition=(Q(secret__isnull=False) & Q(source="stored") & Q(variable=""))
                | (Q(secret__isnull=True) & ~Q(source="stored") & ~Q(variable="")),
                name="gateway_providercredential_secret",
            ),
        ]

    def __str__(self) -> str:
        return self.name
