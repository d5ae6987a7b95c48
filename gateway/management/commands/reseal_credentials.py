"""reseal_credentials: the last step of changing the sealing key."""

from __future__ import annotations

from django.db import transaction

from accounts.management.json_command import ACTOR, Answer, JsonCommand
from gateway.services.credential_encryption import DecryptionFailed, reencrypt_all
from gateway.services.factor_encryption import reencrypt_factors


class Command(JsonCommand):
    help = (
        "Re-encrypt all credentials and second factors with the first of TOLLHOUSE_SEALING_KEYS."
        " You can remove the other keys afterwards."
    )

    def answer(self, **options: object) -> Answer:
        try:
            with transaction.atomic():
                return {
                    "resealed": reencrypt_all(actor=ACTOR),
                    "resealed_factors": reencrypt_factors(actor=ACTOR),
                }
        except DecryptionFailed as error:
            raise ValueError(str(error)) from error

    def describe(self, answer: Answer) -> str:
        return "{resealed} credentials and {resealed_factors} second factors re-encrypted.".format(
            **answer
        )
