"""Reading a long body beside the event loop: the pictures in it are decoded there, too."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from gateway.core.chat import ChatCall
from gateway.core.profiles import Profile
from gateway.core.request import RequestHead
from gateway.core.switch_interval import short_switch_interval

# More would only take turns: reading is all computing.
THREADS = 2


class LongBodies:
    """For all calls of a process. read: gateway.endpoints.chat_completions.read.read_call."""

    def __init__(self, read: Callable[[bytes, RequestHead, Profile], ChatCall]) -> None:
        self._read = read
        self._threads = ThreadPoolExecutor(THREADS, "long-bodies")

    async def read(self, body: bytes, head: RequestHead, profile: Profile) -> ChatCall:
        """Return what the body asks for. Raises what reading raises."""
        loop = asyncio.get_running_loop()
        with short_switch_interval():
            return await loop.run_in_executor(self._threads, self._read, body, head, profile)
