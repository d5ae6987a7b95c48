"""Options that the commands of credentials share."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser

from accounts.untyped import Options
from gateway.core.credential_texts import DYNAMIC, ENV
from gateway.models import Provider, ProviderCredential
from gateway.services.provider_credentials import CredentialFields


def add_variable_option(parser: ArgumentParser, content: str) -> None:
    """content: what the variable has, for people."""
    parser.add_argument(
        "--credential-env", metavar="VARIABLE", help=f"Environment variable with {content}"
    )


def add_source_options(parser: ArgumentParser) -> None:
    """Where the credential is read from: never an argument, which every user of the machine can
    read."""
    source = parser.add_mutually_exclusive_group()
    source.add_argument(
        "--credential-env",
        metavar="VARIABLE",
        help="Read the credential from this environment variable, and store it.",
    )
    source.add_argument(
        "--credential-stdin",
        action="store_true",
        help="Read the credential from standard input, and store it.",
    )
    source.add_argument(
        "--from-server-env",
        metavar="VARIABLE",
        help="Store nothing: the server reads this variable of its own environment.",
    )
    source.add_argument(
        "--from-calls",
        metavar="NAME",
        help="Store nothing: each call sends it in tensorzero::credentials, under this name.",
    )


def add_credential_options(parser: ArgumentParser) -> None:
    parser.add_argument("--weight", type=int, help="Share of calls, 1 to 100. Default: 1.")
    parser.add_argument("--requests-per-minute", type=int, metavar="N", help="0: no limit.")
    parser.add_argument("--max-concurrent", type=int, metavar="N", help="0: no limit.")
    add_source_options(parser)


def read_credential_options(options: Options) -> CredentialFields:
    """Return the fields that were given."""
    fields: CredentialFields = {}
    if options["weight"] is not None:
        fields["weight"] = options["weight"]
    if options["requests_per_minute"] is not None:
        fields["requests_per_minute"] = options["requests_per_minute"] or None
    if options["max_concurrent"] is not None:
        fields["max_concurrent"] = options["max_concurrent"] or None
    return fields


def read_credential(options: Options) -> str | None:
    """Return the credential from where the options of add_source_options say it is, or None.

    Raises LookupError or ValueError when it is not there.
    """
    for option, prefix in (("from_server_env", ENV), ("from_calls", DYNAMIC)):
        if options[option]:
            return f"{prefix}{options[option]}"
    return read_stored_credential(options)


def read_stored_credential(options: Options) -> str | None:
    """Return the credential from --credential-env or --credential-stdin, or None.

    Raises LookupError or ValueError when it is not there.
    """
    variable: str | None = options["credential_env"]
    if variable:
        credential = os.environ.get(variable)
        if not credential:
            raise LookupError(f"The variable {variable} is empty.")
        return credential
    if options["credential_stdin"]:
        credential = sys.stdin.read(1_000_000)
        if not credential.strip():
            raise ValueError("Standard input is empty. It must contain the credential.")
        return credential
    return None


def get_credential(provider: Provider, name: str) -> ProviderCredential:
    """Return a provider's credential of this name. Raises LookupError with a sentence."""
    row = provider.credentials.filter(name=name).first()
    if row is None:
        known = ", ".join(provider.credentials.values_list("name", flat=True)) or "none"
        raise LookupError(f"{provider} has no credential {name[:60]!r}. It has {known}.")
    row.provider = provider
    return row


def write_credential(row: ProviderCredential) -> dict[str, object]:
    """Return a credential as --json shows it: never what it is."""
    return {
        "credential_id": str(row.pk),
        "name": row.name,
        "source": row.source,
        "variable": row.variable,
        "hint": row.hint,
        "weight": row.weight,
        "requests_per_minute": row.requests_per_minute,
        "max_concurrent": row.max_concurrent,
        "enabled": row.enabled,
        "failure": row.failure,
        "failure_message": row.failure_message,
        "rests_until": row.rests_until.isoformat() if row.rests_until else None,
    }
