"""Limits on calls as options of commands: for a key, or for all keys of a workspace."""

from __future__ import annotations

from argparse import ArgumentParser

from accounts.untyped import Options

NONE = "none"
_OPTIONS = {
    "max_requests_per_minute": "Requests per minute.",
    "burst": "Burst: requests that can be made at once. Default: the requests per minute.",
    "max_concurrent": "Concurrent requests. Further requests wait.",
}


def add_call_limit_options(parser: ArgumentParser) -> None:
    for name, words in _OPTIONS.items():
        parser.add_argument(f"--{name.replace('_', '-')}", metavar=f"N|{NONE}", help=words)


def read_call_limit_options(options: Options) -> dict[str, int | None]:
    """Return the limits that were named; None is no limit. Raises ValueError with a sentence."""
    return {name: _read(name, options[name]) for name in _OPTIONS if options[name] is not None}


def _read(name: str, text: str) -> int | None:
    if text == NONE:
        return None
    if not (text.isascii() and text.isdigit()):
        raise ValueError(f"{name}: {text[:40]!r} is not a whole number; {NONE} is no limit.")
    return int(text)
