"""Addresses of pictures that go to a provider as they are: what may be asked for by one of ours.

A company's server fetches them from the internet, and sees nothing of our network. One of our own
(its address is not public, or an operator says that it is local) stands inside, and would fetch
whatever a caller names. For those every address is judged before the call goes there. The provider
resolves the name again: what it may reach has to be bounded where it runs, too.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from ipaddress import ip_address
from urllib.parse import urlsplit

from gateway.core.errors import InvalidFile
from gateway.core.fair_semaphore import FairSemaphore
from gateway.outbound.guarded_sockets import LookUp, look_up
from gateway.outbound.locator import INSIDE, BadAddress, read_host, read_media_host
from gateway.outbound.permitted_addresses import Network, is_public
from gateway.snapshot.types import TargetRecord

LOOK_UP_S = 5.0
MAX_AT_ONCE = 32
MAX_OF_ONE = 8
# So long it is remembered whether a provider is inside.
KEPT_S = 60.0
MAX_KEPT = 1_000
UNKNOWN = "The host of the URL could not be found."


class MediaUrls:
    """For all calls of a process. allowed: networks whose addresses count as public."""

    def __init__(self, allowed: Sequence[Network] = (), *, look_up: LookUp = look_up) -> None:
        self._allowed = allowed
        self._look_up = look_up
        self._semaphore = FairSemaphore(MAX_AT_ONCE, MAX_OF_ONE)
        self._threads = ThreadPoolExecutor(MAX_AT_ONCE, "media-names")
        self._inside: dict[str, tuple[float, bool]] = {}

    async def check(
        self,
        urls: Iterable[tuple[str, str]],
        targets: Iterable[TargetRecord],
        owner: str,
        *,
        may_go_elsewhere: bool,
    ) -> None:
        """Return when a provider of the targets may be given these addresses, each behind the
        place where it stands in the request.

        may_go_elsewhere: to a provider that is not known yet, and is taken for one of ours.
        Raises InvalidFile for an address that leads inside, where a provider is.
        """
        if may_go_elsewhere or await self._has_one_inside(targets):
            await asyncio.gather(*(self._check(url, param, owner) for param, url in urls))

    async def _has_one_inside(self, targets: Iterable[TargetRecord]) -> bool:
        for target in targets:
            if target.is_local or await self._is_inside(target.base_url):
                return True
        return False

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _check(self, url: str, param: str, owner: str) -> None:
        try:
            name = read_media_host(url, self._allowed)
        except BadAddress as error:
            raise InvalidFile(str(error), param=param) from None
        if not name:
            return
        try:
            async with asyncio.timeout(LOOK_UP_S), self._semaphore.slot(owner):
                leads_inside = not await self._is_outside(name, self._allowed)
        except OSError:
            raise InvalidFile(UNKNOWN, param=param) from None
        if leads_inside:
            raise InvalidFile(INSIDE, param=param)

    async def _is_inside(self, base_url: str) -> bool:
        """True for a provider whose address is not public, or cannot be told. The simulated one is
        nowhere."""
        if not base_url.startswith("http"):
            return False
        now = time.monotonic()
        known_at, is_inside = self._inside.get(base_url, (-KEPT_S, True))
        if now - known_at < KEPT_S:
            return is_inside
        try:
            host = str(read_host(urlsplit(base_url)))
            async with asyncio.timeout(LOOK_UP_S):
                is_inside = not await self._is_outside(host, ())
        except (OSError, ValueError):
            return True
        if len(self._inside) >= MAX_KEPT:
            self._inside.clear()
        self._inside[base_url] = (now, is_inside)
        return is_inside

    async def _is_outside(self, name: str, allowed: Sequence[Network]) -> bool:
        """True when every address of the name is public or allowed. Raises OSError for none."""
        loop = asyncio.get_running_loop()
        found = await loop.run_in_executor(self._threads, self._look_up, name, 0)
        addresses = [ip_address(text) for text in found]
        return all(
            is_public(address) or any(address in network for network in allowed)
            for address in addresses
        )
