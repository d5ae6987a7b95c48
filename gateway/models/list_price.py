"""What providers ask for their models, by a published price list: dated rows, none ever changed."""

from __future__ import annotations

from typing import ClassVar

from django.db import models


class ListPrice(models.Model):
    """The price of one model from a day on. Imported (gateway.services.price_list), never edited:
    a later import adds rows."""

    # A name in gateway.providers.catalogue.
    kind = models.CharField(max_length=40)
    # The price list's name for the model, which may stand for several of the provider's.
    model_id = models.CharField(max_length=200)
    name = models.CharField(max_length=200, blank=True)
    # By unit (gateway.core.units): pico-USD for one step of the unit.
    prices = models.JSONField(default=dict)
    context_tokens = models.PositiveIntegerField(null=True)
    # What the prices leave out, in a sentence: higher prices of long prompts, for example.
    note = models.CharField(max_length=300, blank=True)
    # The first day of the price; null: it has no day, and others replace it.
    effective_from = models.DateField(null=True)
    # The price list and its version.
    source = models.CharField(max_length=80)
    imported_at = models.DateTimeField()

    class Meta:
        ordering: ClassVar[list[str]] = ["kind", "model_id", "id"]
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["kind", "model_id"], name="gateway_listprice_model")
        ]

    def __str__(self) -> str:
        return f"{self.model_id} ({self.kind})"
