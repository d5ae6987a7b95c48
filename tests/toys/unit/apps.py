"""The row of the unit, and the price column that its migration adds to models."""

from __future__ import annotations

from django.apps import AppConfig


class ToyUnit(AppConfig):
    name = "tests.toys.unit"
    label = "toy_unit"

    def ready(self) -> None:
        from django.db.models import BigIntegerField

        from gateway.core.units import UNITS, Unit
        from gateway.models import LanguageModel

        LanguageModel.add_to_class("toy_audio_pusd", BigIntegerField(null=True, blank=True))
        UNITS["toy_audio"] = Unit(
            "toy_audio",
            "Toy audio",
            price_column="toy_audio_pusd",
            part_of="prompt",
            usage_detail="audio_tokens",
        )
