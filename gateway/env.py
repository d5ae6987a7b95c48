"""Readers for the environment. A wrong value stops the start with the variable's name."""

from __future__ import annotations

import os
from pathlib import Path

TRUE = {"1", "true", "yes", "on"}
FALSE = {"0", "false", "no", "off", ""}


class SettingError(Exception):
    """A variable of the environment cannot be used; the message says which and why."""


def read_str(name: str, default: str = "") -> str:
    return os.environ.get(name, default)


def read_bool(name: str, default: bool) -> bool:
    text = os.environ.get(name)
    if text is None:
        return default
    if text.lower() in TRUE:
        return True
    if text.lower() in FALSE:
        return False
    raise SettingError(f"{name} must be yes or no, not {text!r}.")


def read_int(name: str, default: int) -> int:
    text = os.environ.get(name)
    if text is None or text == "":
        return default
    try:
        return int(text)
    except ValueError:
        raise SettingError(f"{name} must be a whole number, not {text!r}.") from None


def read_list(name: str) -> list[str]:
    """Return the comma-separated items, trimmed, without empty ones."""
    return [item.strip() for item in os.environ.get(name, "").split(",") if item.strip()]


def read_secret(name: str, default: str = "") -> str:
    """Return NAME, or the content of the file that NAME_FILE points to."""
    path = os.environ.get(f"{name}_FILE")
    if path:
        return Path(path).read_text().strip()
    return os.environ.get(name, default)
