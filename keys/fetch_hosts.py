"""The hosts that a workspace may fetch from, as people write them, checked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from ipaddress import ip_address

from django.core.exceptions import ValidationError

MAX_HOSTS = 1_000
EVERY_HOST = "*"
_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_SHOWN_ERRORS = 5


def read_allowed_hosts(hosts: Sequence[str]) -> list[str]:
    """Return the patterns in their usual form, once each (gateway.core.egress). Raises
    ValidationError."""
    found = _read_hosts(hosts, "allowed_hosts")
    if EVERY_HOST in found:
        words = "* allows every host. Leave the list empty instead."
        raise ValidationError({"allowed_hosts": words})
    return found


def read_denied_hosts(hosts: Sequence[str]) -> list[str]:
    """Do the same for hosts that are denied, which may be all: nothing is fetched then."""
    return _read_hosts(hosts, "denied_hosts")


def _read_hosts(hosts: Sequence[str], field: str) -> list[str]:
    if isinstance(hosts, str):
        raise ValidationError({field: "Hosts must be a list of names."})
    if len(hosts) > MAX_HOSTS:
        raise ValidationError({field: f"Enter at most {MAX_HOSTS:,} hosts (now {len(hosts):,})."})
    found: dict[str, None] = {}
    errors = []
    for host in hosts:
        try:
            found[read_host(host)] = None
        except ValueError as error:
            errors.append(str(error))
    if errors:
        raise ValidationError({field: errors[:_SHOWN_ERRORS]})
    return list(found)


def read_host(text: object) -> str:
    """Return a host such as `example.com`, `*.example.com`, `192.0.2.7` or `*`. Names in other
    letters become what the name system knows them by. Raises ValueError with a sentence."""
    if not isinstance(text, str):
        raise ValueError("A host must be text such as example.com.")
    host = text.strip(" \t\r\n,").lower().removesuffix(".")
    if host == EVERY_HOST:
        return host
    shown = repr(text.strip()[:60])
    refusal = f"{shown} is not a host. Use example.com, *.example.com or an IP address, without a"
    refusal += " scheme, port or path."
    try:
        return str(ip_address(host.strip("[]")))
    except ValueError:
        pass
    prefix = "*." if host.startswith("*.") else ""
    try:
        name = host.removeprefix(prefix).encode("idna").decode("ascii")
    except UnicodeError:
        raise ValueError(refusal) from None
    labels = name.split(".")
    if len(name) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        raise ValueError(refusal)
    if _NUMBER.fullmatch(labels[-1]):  # an IP address that is written in another way
        raise ValueError(refusal)
    return prefix + name
