"""Readers for the environment. A wrong value stops the start with the variable's name."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from gateway.core.money import read_usd
from gateway.core.redis_address import RedisAddress, read_redis_url
from gateway.core.scanner_address import ScannerAddress, read_scanner_url
from gateway.outbound.proxies import EnvironmentProxies, read_environment

TRUE = {"1", "true", "yes", "on"}
_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://(?:[a-z0-9.-]+|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?")
_PREFIX = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,15}")
_HEADER = re.compile(r"[A-Za-z0-9-]{1,64}")
# What Django takes as a pattern of hosts: without scheme, port and path.
_HOST = re.compile(r"\*|(?:\*?\.)?[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*\.?|\[[0-9A-Fa-f:.]+\]")
FALSE = {"0", "false", "no", "off", ""}
OURS = "TOLLHOUSE_"
# For the tests alone (tests.support.require).
_OF_TESTS = {"TOLLHOUSE_REQUIRE"}
# Kubernetes sets these for a service of our name.
_OF_KUBERNETES = re.compile(r"TOLLHOUSE_(?:.+_)?(?:SERVICE_(?:HOST|PORT.*)|PORT_[0-9]+_.+|PORT)")
_read: set[str] = set()


class SettingError(Exception):
    """A variable of the environment cannot be used; the message says which and why."""


def unknown_variables(environ: Mapping[str, str]) -> list[str]:
    """Return a sentence for each variable that is named as a setting, and is none. To be asked when
    all settings have been read."""
    known = _read | _OF_TESTS
    found = []
    for name in sorted(environ):
        if name in known or not name.startswith(OURS):
            continue
        is_port = name.endswith("_PORT") and "://" not in environ[name]
        if _OF_KUBERNETES.fullmatch(name) and not is_port:
            continue
        close = difflib.get_close_matches(name, sorted(known), n=1, cutoff=0.8)
        hint = f"Did you mean {close[0]}?" if close else "It has no effect."
        found.append(f"{name} is not a setting. {hint}")
    return found


def _get(name: str) -> str | None:
    _read.add(name)
    return os.environ.get(name)


def read_str(name: str, default: str = "") -> str:
    text = _get(name)
    return default if text is None else text


def read_proxies() -> EnvironmentProxies:
    try:
        return read_environment(os.environ)
    except ValueError as error:
        raise SettingError(str(error)) from None


def read_bool(name: str, default: bool) -> bool:
    text = _get(name)
    if text is None:
        return default
    if text.lower() in TRUE:
        return True
    if text.lower() in FALSE:
        return False
    raise SettingError(f"{name} must be yes or no, not {text!r}.")


def read_int(name: str, default: int, *, least: int, most: int) -> int:
    text = _get(name)
    if text is None or text == "":
        return default
    try:
        number = int(text)
    except ValueError:
        raise SettingError(f"{name} must be a whole number, not {text!r}.") from None
    if not least <= number <= most:
        raise SettingError(f"{name} must be between {least} and {most}, not {number}.")
    return number


def read_url(name: str) -> str:
    """Return scheme://host[:port] without a path, or "" when the variable is not set."""
    text = (_get(name) or "").strip().rstrip("/")
    if not text:
        return ""
    parts = _split_url(text)
    if parts is None or parts.path or parts.query or parts.fragment or parts.username is not None:
        raise SettingError(f"{name} must look like https://gateway.example.com, not {text!r}.")
    return text


def read_collector(name: str) -> str:
    """Return the address of an OpenTelemetry collector, or "" when the variable is not set."""
    text = (_get(name) or "").strip()
    if not text:
        return ""
    if _split_url(text) is None:
        # Without the text: it may have a password.
        raise SettingError(f"{name} must look like http://collector.example.com:4318.")
    return text


def read_redis(name: str) -> RedisAddress | None:
    """Return the address of a Redis server, or None when the variable is not set."""
    text = read_secret(name).strip()
    if not text:
        return None
    try:
        return read_redis_url(text)
    except ValueError as error:
        # Without the text: it may have a password.
        raise SettingError(f"{name} {error}.") from None


def read_scanner(name: str) -> ScannerAddress | None:
    """Return the address of a scanner of uploads, or None when the variable is not set."""
    text = (_get(name) or "").strip()
    if not text:
        return None
    try:
        return read_scanner_url(text)
    except ValueError as error:
        raise SettingError(f"{name} {error}, not {text!r}.") from None


def read_choice(name: str, default: str, choices: Collection[str]) -> str:
    text = _get(name) or default
    if text not in choices:
        raise SettingError(f"{name} must be one of {', '.join(choices)}, not {text!r}.")
    return text


def read_choices(name: str, choices: Collection[str]) -> list[str]:
    """Return the comma-separated items, each of which must be one of the choices."""
    items = read_list(name)
    for item in items:
        if item not in choices:
            raise SettingError(f"{name} must be some of {', '.join(choices)}, not {item!r}.")
    return items


def read_nusd(name: str, default: str, *, most: str) -> int:
    """Return an amount of USD such as 0.001 as nano-USD, from nothing to `most`."""
    try:
        amount_nusd = read_usd(_get(name) or default)
    except ValueError as error:
        raise SettingError(f"{name}: {error}") from None
    if not 0 <= amount_nusd <= read_usd(most):
        raise SettingError(f"{name} must be between 0 and {most} USD.")
    return amount_nusd


def read_list(name: str) -> list[str]:
    """Return the comma-separated items, trimmed, without empty ones."""
    return _split(_get(name) or "")


def _split_url(text: str) -> SplitResult | None:
    """Return the parts of a URL with http or https, a host and a possible port; None of others."""
    try:
        parts = urlsplit(text)
        is_usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return None
    return parts if is_usable and not re.search(r"\s", text) else None


def read_hosts(name: str) -> list[str]:
    """Return the comma-separated hosts or patterns of hosts."""
    hosts = read_list(name)
    for host in hosts:
        if not _HOST.fullmatch(host):
            raise SettingError(
                f"{name} must have host names such as gateway.example.com, without https:// and "
                f"port, not {host!r}."
            )
    return hosts


def read_header_name(name: str) -> str:
    """Return the name of a header, empty where none is named."""
    text = (_get(name) or "").strip()
    if text and not _HEADER.fullmatch(text):
        raise SettingError(f"{name} must be the name of a header, not {text!r}.")
    return text


def read_prefixes(name: str, default: Sequence[str]) -> list[str]:
    """Return the comma-separated beginnings of keys, once each; the default where none is named."""
    prefixes = list(dict.fromkeys(read_list(name))) or list(default)
    for prefix in prefixes:
        if not _PREFIX.fullmatch(prefix):
            words = "1 to 16 letters, digits, - and _, starting with a letter"
            raise SettingError(f"{name}: {prefix!r} is not a valid prefix: {words}.")
    return prefixes


def read_origins(name: str) -> list[str]:
    """Return the comma-separated origins as browsers write them, such as https://app.example.com,
    or ["*"] where that is one of them."""
    origins = [item.lower().rstrip("/") for item in read_list(name)]
    for origin in origins:
        if origin != "*" and not _ORIGIN.fullmatch(origin):
            raise SettingError(f"{name} must be * or like https://app.example.com, not {origin!r}.")
    return ["*"] if "*" in origins else origins


def read_secrets(name: str) -> list[str]:
    """Return the comma-separated items of NAME, or of the file that NAME_FILE points to."""
    return _split(read_secret(name))


def _split(text: str) -> list[str]:
    return [item.strip() for item in text.split(",") if item.strip()]


def read_secret(name: str, default: str = "") -> str:
    """Return NAME, or the content of the file that NAME_FILE points to."""
    path = _get(f"{name}_FILE")
    if path:
        try:
            return Path(path).read_text().strip()
        except OSError as error:
            raise SettingError(f"{name}_FILE cannot be read: {error.strerror}.") from None
    text = _get(name)
    return default if text is None else text
