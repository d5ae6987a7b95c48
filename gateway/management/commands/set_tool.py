"""set_tool: set the service, the price and the credential of a server tool."""

from __future__ import annotations

import json
from argparse import ArgumentParser, BooleanOptionalAction
from pathlib import Path

from accounts.management.json_command import ACTOR, Answer, JsonCommand
from accounts.selectors import get_workspace
from gateway.core.money import format_usd, read_usd
from gateway.management.credential_options import add_variable_option, read_stored_credential
from gateway.services.tool_settings import (
    ToolFields,
    find_setting,
    get_tool,
    read_documents,
    set_tool,
)
from gateway.tools.backends import BACKENDS

OPTION_NAMES = {
    "enabled": "--enabled",
    "backend": "--backend",
    "base_url": "--base-url",
    "documents": "--documents",
    "model": "--model",
    "price_nusd": "--price",
    "credential": "--credential-env or --credential-stdin",
}


class Command(JsonCommand):
    help = "Set the service and the price of a server tool (plugin). Changes apply within a second."
    option_names = OPTION_NAMES

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("tool", help="web_search, web_fetch, pdf, datetime or image.")
        parser.add_argument("--workspace", help="Only for this workspace: ID, slug or name.")
        parser.add_argument("--enabled", action=BooleanOptionalAction, help="Enable or disable it.")
        parser.add_argument("--backend", help=f"Search service: {', '.join(BACKENDS)}.")
        parser.add_argument("--base-url", help="Base URL of the service. Default: its public URL.")
        parser.add_argument("--documents", help="File with the static index: a JSON list.")
        parser.add_argument("--model", help="Model that generates the images.")
        parser.add_argument("--price", help="Price in USD per use, page or image.")
        add_variable_option(parser, "the API key.")
        parser.add_argument(
            "--credential-stdin", action="store_true", help="Read the API key from standard input."
        )

    def answer(self, *, tool: str, workspace: str | None, **options: object) -> Answer:
        found = get_workspace(workspace) if workspace else None
        kind = get_tool(tool)
        credential = read_stored_credential(options)
        changed = set_tool(
            tool, actor=ACTOR, workspace=found, credential=credential, **_fields(options)
        )
        row = find_setting(tool, found)
        assert row is not None
        return {
            "tool": tool,
            "workspace": found.slug if found else None,
            "changed": changed,
            "enabled": row.enabled,
            "backend": row.backend,
            "base_url": row.base_url,
            "model": row.model,
            "documents": len(row.documents),
            "has_credential": row.secret is not None,
            "price_usd": format_usd(row.price_nusd),
            "unit": kind.unit,
        }

    def describe(self, answer: Answer) -> str:
        changed = "changed" if answer["changed"] else "as it was"
        return "{tool} is {0}. Price: {price_usd} USD per {unit}.".format(changed, **answer)


def _fields(options: dict[str, object]) -> ToolFields:
    """Return what was given. Raises ValueError with a sentence."""
    fields: ToolFields = {}
    if isinstance(enabled := options["enabled"], bool):
        fields["enabled"] = enabled
    if isinstance(backend := options["backend"], str):
        fields["backend"] = backend
    if isinstance(base_url := options["base_url"], str):
        fields["base_url"] = base_url
    if isinstance(model := options["model"], str):
        fields["model"] = model
    if isinstance(price := options["price"], str):
        fields["price_nusd"] = _read_price(price)
    if isinstance(path := options["documents"], str):
        fields["documents"] = read_documents(_read_json_file(path))
    return fields


def _read_price(text: str) -> int:
    """Return nano-USD. Raises ValueError with a sentence."""
    try:
        return read_usd(text)
    except ValueError as error:
        raise ValueError(f"--price: {error}") from None


def _read_json_file(path: str) -> object:
    """Return what the file holds. Raises ValueError with a sentence."""
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ValueError(f"--documents: There is no file {path}.") from None
    except OSError as error:
        raise ValueError(f"--documents: {path} cannot be read: {error.strerror}.") from None
    except (ValueError, RecursionError):
        raise ValueError(f"--documents: {path} is not valid JSON.") from None
