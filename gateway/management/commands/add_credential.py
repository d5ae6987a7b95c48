"""add_credential: add a credential to a provider, beside those that it has."""

from __future__ import annotations

from argparse import ArgumentParser

from accounts.management.json_command import ACTOR, Answer, JsonCommand
from gateway.management.catalogue_options import get_provider
from gateway.management.credential_options import (
    add_credential_options,
    read_credential,
    read_credential_options,
    write_credential,
)
from gateway.services.provider_credentials import add_credential


class Command(JsonCommand):
    help = "Add a credential to a provider. Calls are distributed among its credentials by weight."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("provider", help="Provider name.")
        parser.add_argument("name", help="Letters, digits, - and _.")
        add_credential_options(parser)

    def answer(self, *, provider: str, name: str, **options: object) -> Answer:
        found = get_provider(provider)
        credential = read_credential(options)
        if credential is None:
            raise ValueError("Say where the credential is, for example --credential-env VARIABLE.")
        fields = read_credential_options(options)
        fields["name"] = name
        row = add_credential(found, credential=credential, actor=ACTOR, **fields)
        return {"provider": found.name} | write_credential(row)

    def describe(self, answer: Answer) -> str:
        return "{provider} has the credential {name}.".format(**answer)
