"""Where a caller is: the socket's peer, or what a trusted proxy says of it.

X-Forwarded-For is read only when the peer is a configured proxy, and then from the right: the
first address that is not a proxy of ours is the caller. Anything unparsable on the way stops
the walk and counts as unknown, which no rule allows.
"""

from __future__ import annotations

from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

from gateway.core.request import RequestHead

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network


@lru_cache(maxsize=4096)
def parse_address(text: str) -> Address | None:
    """Return the address in canonical form (IPv4-mapped IPv6 becomes IPv4), or None."""
    try:
        address = ip_address(text)
    except ValueError:
        return None
    if isinstance(address, IPv6Address):
        if address.scope_id is not None:
            return None
        return address.ipv4_mapped or address
    return address


@lru_cache(maxsize=4096)
def canonical_text(text: str) -> str:
    """Return the address in canonical form as text, empty when it is none."""
    address = parse_address(text)
    return "" if address is None else str(address)


def is_in(address: Address, networks: tuple[Network, ...]) -> bool:
    """True when one of the networks has the address."""
    return any(address.version == network.version and address in network for network in networks)


def client_subnet(address: Address) -> str:
    """Return what counts as one client: an IPv4 address, or the /64 that one IPv6 line gets."""
    if isinstance(address, IPv4Address):
        return str(address)
    return str(IPv6Network((int(address) >> 64 << 64, 64)))


def find_caller(head: RequestHead, trusted: tuple[Network, ...]) -> Address | None:
    """Return the caller's address, or None when it cannot be known."""
    address = parse_address(head.peer)
    if address is None or not trusted or not is_in(address, trusted):
        return address
    hops = b",".join(head.values(b"x-forwarded-for")).decode("latin-1")
    for hop in reversed([part.strip(" \t") for part in hops.split(",")]):
        if not hop:
            continue  # empty elements of a list are ignored (RFC 9110, 5.6.1)
        address = parse_address(hop)
        if address is None or not is_in(address, trusted):
            return address
    return address
