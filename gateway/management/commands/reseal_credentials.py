"""reseal_credentials: the last step of changing the sealing key."""

from __future__ import annotations

from typing import Any

from accounts.management.json_command import ACTOR, JsonCommand
from gateway.services.sealing import SealBroken, reseal_all


class Command(JsonCommand):
    help = (
        "Seal every credential with the first of TOLLHOUSE_SEALING_KEYS."
        " The others may be taken out afterwards."
    )

    def answer(self, **options: Any) -> dict[str, Any]:
        try:
            return {"resealed": reseal_all(actor=ACTOR)}
        except SealBroken as error:
            raise ValueError(str(error)) from error

    def describe(self, answer: dict[str, Any]) -> str:
        return "{resealed} credentials were sealed anew.".format(**answer)
