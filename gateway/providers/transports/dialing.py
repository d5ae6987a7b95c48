"""Sockets to hosts that the configuration names: looked up once, checked, the first that answers.

Both transports use it. An address that is link-local or belongs to a metadata service is refused.
"""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Sequence
from ipaddress import ip_address

import aiohappyeyeballs
from aiohappyeyeballs import AddrInfoType

from gateway.core.loop_quota import LoopQuota
from gateway.outbound.guarded_sockets import NotPermitted
from gateway.outbound.permitted_addresses import is_metadata

HAPPY_EYEBALLS_S = 0.25
DNS_CACHE_S = 10.0
MAX_NAMES = 10_000
Addresses = Sequence[AddrInfoType]


class Dialer:
    """Opens sockets. takes_link_local: to link-local addresses and those of metadata services,
    too."""

    def __init__(self, *, takes_link_local: bool = False) -> None:
        self.dns = DnsCache()
        self.takes_link_local = takes_link_local

    async def dial(self, host: str, port: int, connects: LoopQuota) -> socket.socket:
        """Return a connected socket. Raises OSError. connects: how many begin in a pass."""
        found = await self.dns.look_up(host, port)
        if not self.takes_link_local:
            check_addresses(found)
        await connects.turn()
        return await aiohappyeyeballs.start_connection(
            found, happy_eyeballs_delay=HAPPY_EYEBALLS_S, interleave=1, loop=connects.loop
        )


class DnsCache:
    """Addresses of hosts, asked for once by all who want them at the same time."""

    def __init__(self) -> None:
        self._asked: dict[tuple[str, int], tuple[float, asyncio.Future[Addresses]]] = {}

    async def look_up(self, host: str, port: int) -> Addresses:
        """Return what getaddrinfo says, at most DNS_CACHE_S old. Raises OSError."""
        now = time.monotonic()
        asked_at, answer = self._asked.get((host, port), (0.0, None))
        if answer is None or is_failure(answer) or (answer.done() and now - asked_at > DNS_CACHE_S):
            answer = asyncio.ensure_future(ask_system(host, port))
            answer.add_done_callback(is_failure)  # when all who asked have left, it is no news
            if len(self._asked) > MAX_NAMES:
                self._asked.clear()
            self._asked[host, port] = (now, answer)
        return await asyncio.shield(answer)


async def ask_system(host: str, port: int) -> Addresses:
    loop = asyncio.get_running_loop()
    return await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)


def check_addresses(found: Addresses) -> None:
    """Raise NotPermitted when one of the addresses is link-local or a cloud's metadata
    service: whoever can have a name point there must not get what is told there."""
    for *_, address in found:
        if is_metadata(ip_address(address[0])):
            raise NotPermitted(f"{address[0]} is a link-local or metadata address")


def is_failure(answer: asyncio.Future[Addresses]) -> bool:
    return answer.done() and (answer.cancelled() or answer.exception() is not None)
