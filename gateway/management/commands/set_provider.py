"""set_provider: change the base URL, credential and connection of a provider."""

from __future__ import annotations

from argparse import ArgumentParser, BooleanOptionalAction

from django.db import transaction

from accounts.management.json_command import ACTOR, Answer, JsonCommand
from gateway.management.catalogue_options import (
    add_connection_options,
    add_provider_options,
    get_provider,
    read_connection_options,
    read_connection_secrets,
    read_provider_options,
    read_settings,
    write_provider,
)
from gateway.management.credential_options import read_credential
from gateway.services.provider_connections import set_connection
from gateway.services.providers import set_access, set_provider_enabled, update_provider


class Command(JsonCommand):
    help = "Change a provider; other settings stay as they are. Changes apply within a second."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("name", help="Provider name.")
        parser.add_argument("--base-url", help="With another host, enter the credential again.")
        parser.add_argument(
            "--enabled", action=BooleanOptionalAction, help="Enable or disable the provider."
        )
        add_provider_options(parser)
        add_connection_options(parser)

    @transaction.atomic
    def answer(
        self, *, name: str, base_url: str | None, enabled: bool | None, **options: object
    ) -> Answer:
        provider = get_provider(name)
        credential = read_credential(options)
        given = read_settings(options)
        proxy_credential, client_key = read_connection_secrets(options)
        changed = [
            set_access(
                provider,
                base_url=base_url,
                settings=provider.settings | given if given else None,
                credential=credential,
                actor=ACTOR,
            ),
            update_provider(provider, actor=ACTOR, **read_provider_options(options)),
            set_connection(
                provider,
                proxy_credential=proxy_credential,
                client_key=client_key,
                actor=ACTOR,
                **read_connection_options(options),
            ),
        ]
        if enabled is not None:
            changed.append(set_provider_enabled(provider, enabled=enabled, actor=ACTOR))
        return {"changed": any(changed)} | write_provider(provider)

    def describe(self, answer: Answer) -> str:
        return "Provider {name} is {}.".format(
            "changed" if answer["changed"] else "as it was", **answer
        )
