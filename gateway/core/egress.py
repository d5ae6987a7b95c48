"""For whom something is fetched, and from which hosts it may be."""

from __future__ import annotations

from ipaddress import IPv6Address, ip_address
from typing import NamedTuple

import msgspec


class HostRules(msgspec.Struct, frozen=True, array_like=True):
    """The hosts that may be fetched from for a workspace. A host that is denied is refused
    whatever allows it.

    Each is a name in ASCII and lower case, `*.` and a name for all names under it, an IP address
    in its usual form, or `*` for every host. allowed: empty means all.
    """

    allowed: tuple[str, ...] = ()
    denied: tuple[str, ...] = ()

    def allow(self, host: str) -> bool:
        if not self.allowed and not self.denied:
            return True
        patterns = patterns_of(host)
        if not patterns.isdisjoint(self.denied):
            return False
        return not self.allowed or not patterns.isdisjoint(self.allowed)


def patterns_of(host: str) -> frozenset[str]:
    """Return every pattern that the host matches."""
    host = host.lower().strip("[]").rstrip(".")
    try:
        address = ip_address(host)
    except ValueError:
        labels = host.split(".")
        parents = (".".join(labels[start:]) for start in range(1, len(labels)))
        return frozenset({"*", host, *(f"*.{parent}" for parent in parents)})
    found = {"*", str(address)}
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        found.add(str(address.ipv4_mapped))
    return frozenset(found)


class Requester(NamedTuple):
    """For whom something is fetched. hosts: the rules of the workspace, None where it has none."""

    workspace_id: str
    key_id: str
    hosts: HostRules | None = None


class NotFetched(Exception):
    """The message says why, and may be shown to the caller and to models."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message
