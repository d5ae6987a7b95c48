"""Access rules as options of commands: for a key, or for all keys of a workspace."""

from __future__ import annotations

from argparse import ArgumentParser

from accounts.management.limit_options import NONE
from accounts.untyped import Arguments, Options

_FIELDS = {
    "model": ("allowed_models", "NAME", "Allowed model, or pattern such as openai/*. Repeatable."),
    "deny_model": ("denied_models", "NAME", "Denied model or pattern. Repeatable."),
    "ip": ("allowed_ips", "CIDR", "Allowed IP address or network. Repeatable."),
    "deny_ip": ("denied_ips", "CIDR", "Denied IP address or network. Repeatable."),
}
_OF_WORKSPACE = {
    "block_user_agent": (
        "denied_user_agents",
        "TEXT",
        "Part of a blocked User-Agent, or all of it with *. Repeatable.",
    ),
    "country": ("allowed_countries", "CODE", "Allowed country (ISO 3166). Repeatable."),
    "host": (
        "allowed_hosts",
        "HOST",
        "Allowed host of fetched URLs, or *.example.com. Repeatable.",
    ),
    "deny_host": (
        "denied_hosts",
        "HOST",
        "Denied host of fetched URLs, *.example.com, or * for all. Repeatable.",
    ),
    "deny_country": ("denied_countries", "CODE", "Denied country (ISO 3166). Repeatable."),
}
ACCESS_FIELDS = [name for name, _, _ in _FIELDS.values()]
WORKSPACE_FIELDS = [*(name for name, _, _ in (_FIELDS | _OF_WORKSPACE).values()), "max_key_days"]


def add_access_options(parser: ArgumentParser, *, of_workspace: bool = False) -> None:
    for option, (_, metavar, words) in (_FIELDS | (_OF_WORKSPACE if of_workspace else {})).items():
        name = f"--{option.replace('_', '-')}"
        parser.add_argument(name, action="append", metavar=metavar, help=words)
    parser.add_argument(
        "--allow-any-address",
        action="store_true",
        help="Confirm IP rules that allow every address.",
    )


def add_lifetime_option(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--max-key-days", metavar=f"N|{NONE}", help="Maximum key lifetime, in days."
    )


def read_lifetime_option(text: str | None) -> dict[str, int | None]:
    """Return the maximum lifetime where it was named. Raises ValueError with a sentence."""
    if text is None:
        return {}
    if text != NONE and not (text.isascii() and text.isdigit()):
        raise ValueError(f"{text[:40]!r} is not a number of days; {NONE} is no limit.")
    return {"max_key_days": None if text == NONE else int(text)}


def read_access_options(options: Options) -> Arguments:
    """Return the lists that were named; `none` empties one: no rule.

    They are named as keys.services and keys.access take them.
    """
    named: dict[str, list[str] | None] = {}
    for option, (name, _, _) in (_FIELDS | _OF_WORKSPACE).items():
        values = options.get(option)
        if values is not None:
            is_none = values == [NONE]
            named[name] = (None if name == "allowed_ips" else []) if is_none else values
    return named
