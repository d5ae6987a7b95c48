"""Options that the commands of the catalogue share: what a model is like, a provider's secret."""

from __future__ import annotations

import json
import os
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import cast

from accounts.untyped import Options
from gateway.core.money import read_price
from gateway.core.operations import OPERATIONS
from gateway.core.units import UNITS, other_units
from gateway.management.credential_options import add_source_options, write_credential
from gateway.models import LanguageModel, Provider
from gateway.services.models import Described
from gateway.services.provider_connections import (
    ConnectionFields,
    connection_warnings,
    used_transport,
)
from gateway.services.providers import ProviderFields
from gateway.services.unusual_prices import UnusualPrice

ABILITIES = ("vision", "pdf", "audio", "tools")
ANSWERS = {"yes": True, "no": False, "unknown": None}
# The options of a model, by the field that errors of services name.
MODEL_OPTION_NAMES = {
    "native_model": "--native",
    "input_pusd_per_token": "--input",
    "cached_input_pusd_per_token": "--cached-input",
    "output_pusd_per_token": "--output",
    "max_output_tokens": "--max-output",
    "context_tokens": "--context",
    "aliases": "--aliases",
    "fallbacks": "--fallbacks",
    "display_name": "--display-name",
    "description": "--description",
    "owned_by": "--owned-by",
    "operation": "--operation",
    "unknown_fields": "--unknown-fields",
    "default_params": "--default-params",
    "template_render_mode": "--template-mode",
    "default_system_prompt": "--system-prompt",
    **{unit.price_column: f"--price {unit.name}" for unit in other_units() if unit.price_column},
}


@contextmanager
def confirmed_by() -> Iterator[None]:
    """Name the options that confirm an unusual price. Raises ValueError with a sentence."""
    try:
        yield
    except UnusualPrice as error:
        flags = ["--free"] * error.is_free + ["--confirm-price"] * error.is_jump
        sentences = " ".join(dict.fromkeys(error.messages))
        raise ValueError(f"{sentences} Add {' '.join(flags)}.") from None


def add_model_options(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--free", action="store_true", help="Confirm a price of 0. Calls are then free."
    )
    parser.add_argument(
        "--aliases", metavar="NAMES", help="Aliases, separated by commas; '': none."
    )
    parser.add_argument(
        "--fallbacks",
        metavar="NAMES",
        help="Fallback models for calls that no provider of the model served, in order, "
        "separated by commas; '': none. Their own lists are not followed.",
    )
    parser.add_argument("--display-name", metavar="TEXT")
    parser.add_argument("--description", metavar="TEXT")
    parser.add_argument("--owned-by", metavar="TEXT", help="Publisher.")
    parser.add_argument("--context", type=int, metavar="TOKENS")
    parser.add_argument(
        "--supports",
        action="append",
        metavar="ABILITY=ANSWER",
        help=f"{', '.join(ABILITIES)}; yes, no or unknown; repeatable.",
    )
    parser.add_argument(
        "--operation",
        choices=(*OPERATIONS, "any"),
        help="Operation of the model. Other calls are refused. any: the provider decides.",
    )
    parser.add_argument(
        "--unknown-fields",
        choices=LanguageModel.UnknownFields.values,
        help="What happens to unknown parameters.",
    )
    parser.add_argument(
        "--default-params",
        metavar="JSON",
        help="JSON object of parameters that are sent unless the request sets them.",
    )
    parser.add_argument(
        "--template-mode",
        choices=LanguageModel.TemplateMode.values,
        help="How template variables in system prompts are rendered.",
    )
    prompt = parser.add_mutually_exclusive_group()
    prompt.add_argument(
        "--system-prompt",
        metavar="TEXT",
        help="System prompt placed before the caller's; '': none.",
    )
    prompt.add_argument(
        "--system-prompt-file", type=Path, metavar="FILE", help="The same, from a file."
    )


def add_price_option(parser: ArgumentParser) -> None:
    units = [unit for unit in other_units() if unit.price_column]
    told = ", ".join(f"{unit.name} (USD per {unit.price_noun})" for unit in units)
    parser.add_argument(
        "--price",
        action="append",
        metavar="UNIT=USD",
        help=f"Price of another unit: {told}; repeatable. Without a price, or with 'UNIT=', cache "
        "writes cost what prompt tokens do, those for an hour what other cache writes do, and the "
        "others cost nothing.",
    )


def read_price_option(option: str, text: str, unit: str = "prompt") -> int:
    """Return the price of an option, in pico-USD per step. Raises ValueError that names it."""
    try:
        return read_price(text, UNITS[unit])
    except ValueError as error:
        raise ValueError(f"{option}: {error}") from None


def read_unit_prices(given: Sequence[str] | None) -> dict[str, int | None]:
    """Return the prices of --price. Raises ValueError with a sentence."""
    prices: dict[str, int | None] = {}
    units = {unit.name: unit for unit in other_units() if unit.price_column}
    for text in given or ():
        name, separator, usd = text.partition("=")
        if name not in units or not separator:
            raise ValueError(
                f"{text[:40]!r} is not a unit and its price: write one of {', '.join(units)}, then "
                "= and a price in USD."
            )
        prices[name] = read_price_option(f"--price {name}", usd, name) if usd else None
    return prices


def read_model_options(options: Options) -> Described:
    """Return the fields that were given. Raises ValueError with a sentence."""
    named = {
        "display_name": options["display_name"],
        "description": options["description"],
        "owned_by": options["owned_by"],
        "context_tokens": options["context"],
        "unknown_fields": options["unknown_fields"],
        "template_render_mode": options["template_mode"],
        "default_system_prompt": _read_prompt(options),
    }
    fields = {name: value for name, value in named.items() if value is not None}
    if options["operation"] is not None:
        fields["operation"] = "" if options["operation"] == "any" else options["operation"]
    for name in ("aliases", "fallbacks"):
        if options[name] is not None:
            fields[name] = [part.strip() for part in options[name].split(",") if part.strip()]
    if options["default_params"] is not None:
        fields["default_params"] = _read_json(options["default_params"])
    return cast(Described, fields | _read_abilities(options["supports"] or ()))


def write_model(model: LanguageModel) -> dict[str, object]:
    """Return a model as --json shows it."""
    targets = list(model.targets.select_related("provider"))
    return {
        "model_id": str(model.pk),
        "name": model.name,
        "aliases": model.aliases,
        "fallbacks": model.fallbacks,
        "display_name": model.display_name,
        "owned_by": model.owned_by,
        "provider": targets[0].provider.name,
        "native_model": targets[0].native_model,
        "targets": [str(target) for target in targets],
        "input_pusd_per_token": model.input_pusd_per_token,
        "cached_input_pusd_per_token": model.cached_input_pusd_per_token,
        "output_pusd_per_token": model.output_pusd_per_token,
        **{
            unit.price_column: getattr(model, unit.price_column)
            for unit in other_units()
            if unit.price_column
        },
        "context_tokens": model.context_tokens,
        "max_output_tokens": model.max_output_tokens,
        "supports": {ability: getattr(model, f"supports_{ability}") for ability in ABILITIES},
        "operation": model.operation or "any",
        "unknown_fields": model.unknown_fields,
        "default_params": model.default_params,
        "template_render_mode": model.template_render_mode,
        "default_system_prompt": model.default_system_prompt,
        "enabled": model.enabled,
    }


def get_provider(name: str) -> Provider:
    """Return the provider of this name. Raises LookupError with a sentence."""
    provider = Provider.objects.filter(name=name).first()
    if provider is None:
        raise LookupError(f"The provider {name[:60]!r} does not exist. Add it first.")
    return provider


def add_provider_options(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--structured-dialect",
        choices=Provider.StructuredDialect.values,
        help="vLLM only: how guided decoding is requested.",
    )
    parser.add_argument(
        "--local",
        choices=("yes", "no"),
        help="On-premises, where calls with require_local may go: yes or no.",
    )
    parser.add_argument("--location", metavar="TEXT", help="Data center region, such as eu-west.")
    parser.add_argument(
        "--passthrough",
        choices=("yes", "no"),
        help="Allow provider/provider-model-id as a model name in calls.",
    )
    parser.add_argument(
        "--setting",
        action="append",
        metavar="NAME=VALUE",
        help="A setting of its kind, such as region=eu-west-1; 'NAME=': its default; repeatable.",
    )
    add_source_options(parser)


def add_connection_options(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--transport",
        choices=Provider.Transport.values,
        help="HTTP client. automatic: httpx where a proxy, HTTP/2 or certificates need it.",
    )
    parser.add_argument("--http2", choices=("yes", "no"), help="Offer HTTP/2.")
    parser.add_argument("--proxy", metavar="URL", help="http(s)://host:port; '': none.")
    parser.add_argument(
        "--proxy-credential-env",
        metavar="VARIABLE",
        help="Environment variable with name:password.",
    )
    parser.add_argument(
        "--ca-file", metavar="FILE", help="PEM, trusted instead of the system's CAs; '': none."
    )
    parser.add_argument("--client-certificate-file", metavar="FILE", help="PEM; '': none.")
    parser.add_argument("--client-key-file", metavar="FILE", help="PEM, without a passphrase.")


def read_connection_options(options: Options) -> ConnectionFields:
    """Return the fields that were given. Raises ValueError or LookupError."""
    fields: ConnectionFields = {}
    if options["transport"] is not None:
        fields["transport"] = options["transport"]
    if options["http2"] is not None:
        fields["uses_http2"] = options["http2"] == "yes"
    if options["proxy"] is not None:
        fields["proxy_url"] = options["proxy"]
    if options["ca_file"] is not None:
        fields["ca_certificate"] = _read_pem(options["ca_file"])
    if options["client_certificate_file"] is not None:
        fields["client_certificate"] = _read_pem(options["client_certificate_file"])
    return fields


def read_connection_secrets(options: Options) -> tuple[str, str]:
    """Return the proxy's name:password and the client key, empty for what was not given."""
    variable = options["proxy_credential_env"]
    credential = os.environ.get(variable, "") if variable else ""
    if variable and not credential:
        raise LookupError(f"The variable {variable} is empty.")
    file = options["client_key_file"]
    return credential, _read_pem(file) if file else ""


def _read_pem(name: str) -> str:
    return _read_text(Path(name)) if name else ""


def read_provider_options(options: Options) -> ProviderFields:
    """Return the fields that were given."""
    fields: ProviderFields = {}
    if options["structured_dialect"] is not None:
        fields["structured_dialect"] = options["structured_dialect"]
    if options["local"] is not None:
        fields["is_local"] = options["local"] == "yes"
    if options["location"] is not None:
        fields["location"] = options["location"]
    if options["passthrough"] is not None:
        fields["allows_passthrough"] = options["passthrough"] == "yes"
    return fields


def read_settings(options: Options) -> dict[str, str]:
    """Return the settings that were given. Raises ValueError with a sentence."""
    settings: dict[str, str] = {}
    for text in options["setting"] or ():
        name, separator, value = text.partition("=")
        if not separator:
            raise ValueError(f"{text[:40]!r} is not a setting. Use NAME=VALUE.")
        settings[name.strip()] = value
    return settings


def write_provider(provider: Provider) -> dict[str, object]:
    """Return a provider as --json shows it: never its credential."""
    return {
        "provider_id": str(provider.pk),
        "name": provider.name,
        "kind": provider.kind,
        "base_url": provider.base_url,
        "settings": provider.settings,
        "has_credential": provider.credentials.exists(),
        "credentials": [write_credential(row) for row in provider.credentials.all()],
        "structured_dialect": provider.structured_dialect,
        "server_version": provider.server_version,
        "is_local": provider.is_local,
        "location": provider.location,
        "allows_passthrough": provider.allows_passthrough,
        "transport": provider.transport,
        "used_transport": used_transport(provider),
        "http2": provider.uses_http2,
        "proxy": provider.proxy_url,
        "has_proxy_credential": provider.proxy_credential is not None,
        "has_ca": bool(provider.ca_certificate),
        "has_client_certificate": bool(provider.client_certificate),
        "warnings": connection_warnings(provider),
        "enabled": provider.enabled,
    }


def _read_prompt(options: Options) -> str | None:
    """Return the prompt, from where the options have it. Raises ValueError or LookupError."""
    file: Path | None = options["system_prompt_file"]
    if file is None:
        given: str | None = options["system_prompt"]
        return given
    return _read_text(file)


def _read_text(file: Path) -> str:
    """Return a file's text. Raises ValueError or LookupError."""
    try:
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise LookupError(f"{file} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise ValueError(f"{file} is not UTF-8.") from None


def _read_json(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError("--default-params is not valid JSON.") from None


def _read_abilities(given: Sequence[str]) -> dict[str, bool | None]:
    fields: dict[str, bool | None] = {}
    for text in given:
        ability, _, answer = text.partition("=")
        if ability not in ABILITIES or answer not in ANSWERS:
            raise ValueError(
                f"{text[:40]!r} is not a capability and a value. Use one of "
                f"{', '.join(ABILITIES)}, then = and one of {', '.join(ANSWERS)}."
            )
        fields[f"supports_{ability}"] = ANSWERS[answer]
    return fields
