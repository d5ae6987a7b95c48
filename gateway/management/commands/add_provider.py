"""add_provider: add a provider, an account at a company or a server of your own."""

from __future__ import annotations

from argparse import ArgumentParser

from django.db import transaction

from accounts.management.json_command import ACTOR, Answer, JsonCommand
from gateway.management.catalogue_options import (
    add_connection_options,
    add_provider_options,
    read_connection_options,
    read_connection_secrets,
    read_provider_options,
    read_settings,
    write_provider,
)
from gateway.management.credential_options import read_credential
from gateway.providers import catalogue
from gateway.services.provider_connections import set_connection
from gateway.services.providers import add_provider


class Command(JsonCommand):
    help = "Add a provider. Its credential is read from a variable or from standard input."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("name", help="Letters, digits, - and _.")
        parser.add_argument("--kind", required=True, help=", ".join(catalogue.BY_NAME))
        parser.add_argument("--base-url", default="", help="Default: the provider's standard URL.")
        add_provider_options(parser)
        add_connection_options(parser)

    @transaction.atomic
    def answer(self, *, name: str, kind: str, base_url: str, **options: object) -> Answer:
        provider = add_provider(
            name=name,
            kind=kind,
            base_url=base_url,
            credential=read_credential(options),
            settings=read_settings(options),
            actor=ACTOR,
            **read_provider_options(options),
        )
        proxy_credential, client_key = read_connection_secrets(options)
        set_connection(
            provider,
            proxy_credential=proxy_credential,
            client_key=client_key,
            actor=ACTOR,
            **read_connection_options(options),
        )
        return write_provider(provider)

    def describe(self, answer: Answer) -> str:
        return "Provider {name} at {base_url} is ready.".format(**answer)
