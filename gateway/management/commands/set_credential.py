"""set_credential: change, replace, disable or remove a credential of a provider."""

from __future__ import annotations

from argparse import ArgumentParser, BooleanOptionalAction

from accounts.management.json_command import ACTOR, Answer, JsonCommand
from gateway.management.catalogue_options import get_provider
from gateway.management.credential_options import (
    add_credential_options,
    get_credential,
    read_credential,
    read_credential_options,
    write_credential,
)
from gateway.services.provider_credentials import remove_credential, update_credential


class Command(JsonCommand):
    help = "Change a credential of a provider. Running calls are not interrupted."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("provider", help="Provider name.")
        parser.add_argument("name", help="Name of the credential.")
        parser.add_argument("--enabled", action=BooleanOptionalAction, help="Enable or disable it.")
        parser.add_argument("--remove", action="store_true", help="Remove it.")
        add_credential_options(parser)

    def answer(
        self, *, provider: str, name: str, enabled: bool | None, remove: bool, **options: object
    ) -> Answer:
        row = get_credential(get_provider(provider), name)
        shown = {"provider": provider} | write_credential(row)
        if remove:
            remove_credential(row, actor=ACTOR)
            return shown | {"changed": True, "removed": True}
        fields = read_credential_options(options)
        if enabled is not None:
            fields["enabled"] = enabled
        credential = read_credential(options)
        changed = update_credential(row, credential=credential, actor=ACTOR, **fields)
        return {"provider": provider, "changed": changed, "removed": False} | write_credential(row)

    def describe(self, answer: Answer) -> str:
        if answer["removed"]:
            return "{provider} no longer has the credential {name}.".format(**answer)
        return "The credential {name} of {provider} is {}.".format(
            "changed" if answer["changed"] else "as it was", **answer
        )
