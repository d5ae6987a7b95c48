"""The limits of a key as options of commands."""

from __future__ import annotations

from argparse import ArgumentParser

from accounts.limits import SPENDING
from accounts.management.limit_options import (
    add_call_limit_options,
    add_spending_options,
    read_call_limit_options,
    read_spending_options,
)
from accounts.untyped import Options
from gateway.core.money import format_usd
from keys.limits import limits_of
from keys.models import ApiKey


def add_limit_options(parser: ArgumentParser) -> None:
    add_call_limit_options(parser)
    add_spending_options(parser)


def read_limit_options(key: ApiKey, options: Options) -> dict[str, int | None]:
    """Return the key's limits with what the options say. Raises ValueError with a sentence."""
    return limits_of(key) | read_call_limit_options(options) | read_spending_options(options)


def write_limits(key: ApiKey) -> dict[str, object]:
    """Return the limits as --json shows them: money in nano-USD, and in USD as text."""
    limits: dict[str, object] = dict(limits_of(key))
    for name in SPENDING:
        nusd = limits_of(key)[name]
        limits[name.replace("_nusd", "_usd")] = None if nusd is None else format_usd(nusd)
    return limits
