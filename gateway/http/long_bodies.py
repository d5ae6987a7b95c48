"""Reading a long body beside the event loop: the pictures in it are decoded there, too."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

from gateway.core.call import AnyCall
from gateway.core.profiles import Profile
from gateway.core.request import RequestHead
from gateway.core.switch_interval import short_switch_interval

# More would only take turns: reading is all computing.
THREADS = 2


class Reader(Protocol):
    """What reads bodies: an Endpoint (gateway.endpoints.base)."""

    def read(self, body: bytes, head: RequestHead, profile: Profile) -> AnyCall: ...


class LongBodies:
    """For all calls of a process."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(THREADS, "long-bodies")

    async def read(
        self, endpoint: Reader, body: bytes, head: RequestHead, profile: Profile
    ) -> AnyCall:
        """Return what the body asks for. Raises what reading raises."""
        loop = asyncio.get_running_loop()
        with short_switch_interval():
            return await loop.run_in_executor(self._threads, endpoint.read, body, head, profile)
