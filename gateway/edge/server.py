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
# What is left when every call has been told to end, or has: answers on their way out.
LAST_S = 1


class DrainingServer(uvicorn.Server):
    async def shutdown(self, sockets: list[socket] | None = None) -> None:
        """Answer new requests with 503 until the running ones have ended, or drain_s is over."""
        limiter = GuardedHttpProtocol.limiter
        limiter.begin_drain()
        state, loop = self.server_state, asyncio.get_running_loop()
        deadline = loop.time() + limiter.limits.drain_s
        for connection in list(state.connections):
            cast(GuardedHttpProtocol, connection).drain()
        while (left_s := deadline - loop.time()) > 0 and state.tasks and not self.force_exit:
            await asyncio.wait(state.tasks, timeout=min(left_s, LOOK_EVERY_S))
        self.config.timeout_graceful_shutdown = LAST_S
        await super().shutdown(sockets)
