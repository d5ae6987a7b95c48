"""The price column of the scratch package's own unit, which its migration adds to models."""

from __future__ import annotations

from django.apps import AppConfig


class Scratch(AppConfig):
    name = "tests.house.seams"
    label = "scratch"

    def ready(self) -> None:
        from django.db.models import BigIntegerField

        from gateway.models import LanguageModel
        from tests.house.seams.register import AUDIO

        price = BigIntegerField(null=True, blank=True)
        LanguageModel.add_to_class(AUDIO.price_column, price)
