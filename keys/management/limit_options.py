"""The limits of a key as options of commands."""

from __future__ import annotations

from argparse import ArgumentParser

from accounts.management.limit_options import NONE, add_call_limit_options, read_call_limit_options
from accounts.untyped import Options
from gateway.core.money import format_usd, read_usd
from keys.limits import SPENDING, limits_of
from keys.models import ApiKey

_OPTIONS = {
    "daily_usd": ("daily_limit_nusd", "Daily budget (USD), per UTC day."),
    "monthly_usd": ("monthly_limit_nusd", "Monthly budget (USD), per UTC month."),
    "total_usd": ("total_limit_nusd", "Total budget (USD)."),
}


def add_limit_options(parser: ArgumentParser) -> None:
    add_call_limit_options(parser)
    for name, (_, words) in _OPTIONS.items():
        parser.add_argument(f"--{name.replace('_', '-')}", metavar=f"USD|{NONE}", help=words)


def read_limit_options(key: ApiKey, options: Options) -> dict[str, int | None]:
    """Return the key's limits with what the options say. Raises ValueError with a sentence."""
    limits = limits_of(key) | read_call_limit_options(options)
    for option, (name, _) in _OPTIONS.items():
        if (text := options[option]) is not None:
            limits[name] = None if text == NONE else read_usd(text)
    return limits


def write_limits(key: ApiKey) -> dict[str, object]:
    """Return the limits as --json shows them: money in nano-USD, and in USD as text."""
    limits: dict[str, object] = dict(limits_of(key))
    for name in SPENDING:
        nusd = limits_of(key)[name]
        limits[name.replace("_nusd", "_usd")] = None if nusd is None else format_usd(nusd)
    return limits
