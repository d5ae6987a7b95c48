"""Which addresses of the internet may be connected to for a caller. Pure; no name is resolved.

The tables follow IANA's registries of special-purpose addresses; what is not plainly public is
not allowed. IPv6 addresses that carry an IPv4 address are judged by that one, or refused where
the way they go is not ours to know.
"""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_network

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

WEB_PORTS = frozenset({80, 443})
_NOT_PUBLIC_4 = tuple(
    IPv4Network(text)
    for text in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",  # private
        "100.64.0.0/10",  # carriers' NAT; 100.100.100.200 is a cloud's metadata
        "127.0.0.0/8",  # loopback
        "168.63.129.16/32",  # a cloud's metadata, though it looks public
        "169.254.0.0/16",  # link-local; 169.254.169.254 is most clouds' metadata
        "172.16.0.0/12",  # private
        "192.0.0.0/24",  # protocols of the IETF
        "192.0.2.0/24",  # documentation
        "192.88.99.0/24",  # relays of 6to4
        "192.168.0.0/16",  # private
        "198.18.0.0/15",  # benchmarks
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, and broadcast
    )
)
_GLOBAL_6 = IPv6Network("2000::/3")
_NOT_PUBLIC_6 = tuple(
    IPv6Network(text)
    for text in (
        "2001::/23",  # protocols of the IETF, Teredo among them
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4
        "3fff::/20",  # documentation
    )
)
# The IPv4 address is in the last 32 bits.
_CARRIES_4 = tuple(
    IPv6Network(text)
    for text in (
        "::ffff:0:0/96",  # mapped
        "64:ff9b::/96",  # NAT64
    )
)
# ISATAP: in the last 64 bits this, then an IPv4 address; the second bit says that it is unique.
_ISATAP = 0x5EFE
_UNIQUE_BIT = 0x0200_0000

# Where a machine learns about itself: whoever can ask there has its credentials.
_METADATA_4 = tuple(
    IPv4Network(text)
    for text in (
        "169.254.0.0/16",  # link-local
        "100.100.100.200/32",
        "168.63.129.16/32",
        "192.0.0.192/32",
    )
)
_METADATA_6 = tuple(
    IPv6Network(text)
    for text in (
        "fe80::/10",  # link-local
        "fd00:ec2::254/128",
        "fd20:ce::254/128",
    )
)
METADATA_NAMES = frozenset(
    {
        "instance-data",
        "instance-data.ec2.internal",
        "metadata",
        "metadata.azure.internal",
        "metadata.goog",
        "metadata.google.internal",
        "metadata.tencentyun.com",
    }
)
_SIX_TO_FOUR = IPv6Network("2002::/16")
_COMPATIBLE = IPv6Network("::/96")


def read_networks(texts: Sequence[str]) -> tuple[Network, ...]:
    """Return the networks. Raises ValueError for what is none."""
    return tuple(ip_network(text) for text in texts)


def unwrapped(address: Address) -> Address:
    """Return the IPv4 address that an IPv6 address stands for, or the address itself."""
    if isinstance(address, IPv6Address) and any(address in network for network in _CARRIES_4):
        return IPv4Address(int(address) & 0xFFFF_FFFF)
    return address


def is_public(address: Address) -> bool:
    """True when the address belongs to one host somewhere on the public internet."""
    address = unwrapped(address)
    if isinstance(address, IPv4Address):
        return not any(address in network for network in _NOT_PUBLIC_4)
    if address not in _GLOBAL_6 or any(address in network for network in _NOT_PUBLIC_6):
        return False
    return (int(address) >> 32 & 0xFFFF_FFFF) & ~_UNIQUE_BIT != _ISATAP


def is_metadata(address: Address) -> bool:
    """True for a link-local address and for where clouds answer with a machine's credentials, in
    whatever IPv6 address such a one may be carried."""
    address = unwrapped(address)
    if isinstance(address, IPv4Address):
        return any(address in network for network in _METADATA_4)
    if any(address in network for network in _METADATA_6):
        return True
    carried = []
    if address in _SIX_TO_FOUR:
        carried.append(int(address) >> 80)
    is_isatap = (int(address) >> 32 & 0xFFFF_FFFF) & ~_UNIQUE_BIT == _ISATAP
    if address in _COMPATIBLE or is_isatap:
        carried.append(int(address))
    four = [IPv4Address(number & 0xFFFF_FFFF) for number in carried]
    return any(one in network for one in four for network in _METADATA_4)


def may_connect(address: Address, port: int, allowed: Sequence[Network]) -> bool:
    """True for a public address at a port of the web, and for any port in the allowed networks."""
    address = unwrapped(address)
    if any(address in network for network in allowed):
        return True
    return port in WEB_PORTS and is_public(address)
