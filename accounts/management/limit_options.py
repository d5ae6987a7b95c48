"""Limits on calls and budgets as options of commands."""

from __future__ import annotations

from argparse import ArgumentParser

from accounts.untyped import Options
from gateway.core.money import read_usd

NONE = "none"
_OPTIONS = {
    "max_requests_per_minute": "Requests per minute.",
    "burst": "Burst: requests that can be made at once. Default: the requests per minute.",
    "max_concurrent": "Concurrent requests. Further requests wait.",
}

_BUDGETS = {
    "daily_usd": ("daily_limit_nusd", "Daily budget (USD)."),
    "weekly_usd": ("weekly_limit_nusd", "Weekly budget (USD); weeks begin on Monday."),
    "monthly_usd": ("monthly_limit_nusd", "Monthly budget (USD)."),
    "total_usd": ("total_limit_nusd", "Total budget (USD)."),
}
# By the field that errors of services name.
OPTION_NAMES = {
    **{name: f"--{name.replace('_', '-')}" for name in _OPTIONS},
    **{field: f"--{name.replace('_', '-')}" for name, (field, _) in _BUDGETS.items()},
}


def add_call_limit_options(parser: ArgumentParser) -> None:
    for name, words in _OPTIONS.items():
        parser.add_argument(f"--{name.replace('_', '-')}", metavar=f"N|{NONE}", help=words)


def read_call_limit_options(options: Options) -> dict[str, int | None]:
    """Return the limits that were named; None is no limit. Raises ValueError with a sentence."""
    return {name: _read(name, options[name]) for name in _OPTIONS if options[name] is not None}


def add_spending_options(parser: ArgumentParser) -> None:
    for name, (_, words) in _BUDGETS.items():
        parser.add_argument(f"--{name.replace('_', '-')}", metavar=f"USD|{NONE}", help=words)


def read_spending_options(options: Options) -> dict[str, int | None]:
    """Return the budgets that were named, in nano-USD; None is no limit. Raises ValueError."""
    return {
        name: None if text == NONE else read_usd(text)
        for option, (name, _) in _BUDGETS.items()
        if (text := options[option]) is not None
    }


def _read(name: str, text: str) -> int | None:
    if text == NONE:
        return None
    if not (text.isascii() and text.isdigit()):
        words = f"{text[:40]!r} is not a whole number above 0; {NONE} is no limit."
        raise ValueError(f"{OPTION_NAMES[name]}: {words}")
    return int(text)
