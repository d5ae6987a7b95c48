"""reseal_credentials: the last step of changing the sealing key."""

from __future__ import annotations

from argparse import ArgumentParser

from django.db import transaction

from accounts.management.json_command import ACTOR, Answer, JsonCommand
from gateway.services.credential_encryption import DecryptionFailed, reencrypt_all
from gateway.services.factor_encryption import reencrypt_factors
from gateway.services.sealing_check import find_process_without_first_key, forget_other_keys

ACCEPT_LOSS = (
    "Re-encrypt nothing, and start without sealing keys that are lost. What they encrypted can no"
    " longer be decrypted: enter credentials again, and reset second factors."
)


class Command(JsonCommand):
    help = (
        "Re-encrypt all credentials and second factors with the first of TOLLHOUSE_SEALING_KEYS."
        " You can remove the other keys afterwards."
    )

    _accepts_loss = False

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--accept-loss", action="store_true", help=ACCEPT_LOSS)

    def answer(self, *, accept_loss: bool, **options: object) -> Answer:
        self._accepts_loss = accept_loss
        if accept_loss:
            forget_other_keys()
            return {"resealed": 0, "resealed_factors": 0}
        process = find_process_without_first_key()
        if process is not None:
            raise ValueError(
                f"Process {process.pid} on {process.host} was started without the first of "
                "TOLLHOUSE_SEALING_KEYS and could not decrypt anything any more. Restart it with "
                "these keys, then run this command again."
            )
        try:
            with transaction.atomic():
                answer: Answer = {
                    "resealed": reencrypt_all(actor=ACTOR),
                    "resealed_factors": reencrypt_factors(actor=ACTOR),
                }
                forget_other_keys()
                return answer
        except DecryptionFailed as error:
            raise ValueError(str(error)) from error

    def describe(self, answer: Answer) -> str:
        if self._accepts_loss:
            return (
                "The server now starts without the sealing keys that are lost. Nothing was "
                "re-encrypted: enter the credentials again, and reset second factors."
            )
        return "{resealed} credentials and {resealed_factors} second factors re-encrypted.".format(
            **answer
        )
