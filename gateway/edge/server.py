"""uvicorn's server, with another end: while running calls end, its listener stays open and says so.

uvicorn closes the listener first, and whoever connects while calls come to their end is refused
without a word. Started by gateway.launch.server.
"""

from __future__ import annotations

import asyncio
from socket import socket
from typing import cast

import uvicorn

from gateway.edge.protocol import GuardedHttpProtocol

LOOK_EVERY_S = 0.05
# How long a connection may be idle, once its process retires, before it is closed: its client gets
# to know of that with the answer to its next request, if it comes. Longer than clients keep idle
# connections (httpx 5 s, aiohttp 15 s): a request that crosses the end of its connection is lost.
IDLE_S = 20.0
# What is left when every call has been told to end, or has: answers on their way out.
LAST_S = 1


class DrainingServer(uvicorn.Server):
    is_retiring = False

    def retire(self) -> None:
        """End without refusing a request, while other processes take the new connections."""
        self.is_retiring = self.should_exit = True

    async def shutdown(self, sockets: list[socket] | None = None) -> None:
        """Answer new requests with 503 until the running ones have ended, or drain_s is over."""
        limiter = GuardedHttpProtocol.limiter
        if self.is_retiring:
            await self._serve_the_rest()
        limiter.begin_drain()
        state, loop = self.server_state, asyncio.get_running_loop()
        deadline = loop.time() + limiter.limits.drain_s
        for connection in list(state.connections):
            cast(GuardedHttpProtocol, connection).drain()
        while (left_s := deadline - loop.time()) > 0 and state.tasks and not self.force_exit:
            await asyncio.wait(state.tasks, timeout=min(left_s, LOOK_EVERY_S))
        self.config.timeout_graceful_shutdown = LAST_S
        await super().shutdown(sockets)

    async def _serve_the_rest(self) -> None:
        """Take no more connections, and serve those there are until they have ended, or drain_s is
        over."""
        limiter, loop = GuardedHttpProtocol.limiter, asyncio.get_running_loop()
        for server in self.servers:
            server.close()
        limiter.is_retiring = True
        began = loop.time()
        while not self.force_exit and self.server_state.connections:
            now = loop.time()
            if now > began + limiter.limits.drain_s:
                return
            # Those that were idle before have not had that time yet.
            if now > began + IDLE_S:
                for connection in list(self.server_state.connections):
                    cast(GuardedHttpProtocol, connection).close_idle(since=now - IDLE_S)
            await asyncio.sleep(LOOK_EVERY_S)
