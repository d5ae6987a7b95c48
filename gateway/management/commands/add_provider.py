"""add_provider: an account at a company, or a server of ours, that answers calls."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser
from typing import Any

from accounts.management.json_command import ACTOR, JsonCommand
from gateway.core import provider_kinds
from gateway.services.providers import add_provider


class Command(JsonCommand):
    help = "Add a provider. Its credential is read from a variable or from standard input."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("name", help="Letters, digits, - and _.")
        parser.add_argument("--kind", required=True, help=", ".join(provider_kinds.BY_NAME))
        parser.add_argument("--base-url", default="", help="Default: the kind's own.")
        # Never an argument: every user of the machine can read those.
        source = parser.add_mutually_exclusive_group()
        source.add_argument("--credential-env", metavar="VARIABLE")
        source.add_argument("--credential-stdin", action="store_true")

    def answer(
        self,
        *,
        name: str,
        kind: str,
        base_url: str,
        credential_env: str | None,
        credential_stdin: bool,
        **options: Any,
    ) -> dict[str, Any]:
        credential = None
        if credential_env:
            credential = os.environ.get(credential_env)
            if not credential:
                raise LookupError(f"The variable {credential_env} is empty.")
        elif credential_stdin:
            credential = sys.stdin.read(1_000_000)
            if not credential.strip():
                raise ValueError("Standard input is empty: the credential was to come from there.")
        provider = add_provider(
            name=name, kind=kind, base_url=base_url, credential=credential, actor=ACTOR
        )
        return {
            "provider_id": str(provider.pk),
            "name": provider.name,
            "kind": provider.kind,
            "base_url": provider.base_url,
            "has_credential": provider.credential is not None,
        }

    def describe(self, answer: dict[str, Any]) -> str:
        return "Provider {name} at {base_url} is ready.".format(**answer)
