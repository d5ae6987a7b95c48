"""Asking the same target again, where it is known that it did not take the request.

Never connected, or turned away with a status that says "later": the request cannot have run. One
that was sent and then dropped may have, and is never sent to the same target again (docs/adr/0024).
"""

from __future__ import annotations

import asyncio
import random

from gateway.core.errors import ProviderUnreachable
from gateway.providers.base import UpstreamRequest
from gateway.providers.transports.base import Transport, UpstreamResponse
from gateway.providers.upstream_errors import read_retry_after

TURNED_AWAY = frozenset({429, 503, 529})
MAX_WAIT_S = 10.0
PAUSE_S = 0.5


class RetryingTransport:
    """Another transport, asked up to so many times more.

    pause_s: before the second time; each further pause is twice as long, and all are cut at random
    so that callers who were turned away together do not come back together.
    """

    def __init__(self, transport: Transport, retries: int, *, pause_s: float = PAUSE_S) -> None:
        self._transport = transport
        self._retries = retries
        self._pause_s = pause_s

    async def open(self, request: UpstreamRequest) -> UpstreamResponse:
        """As Transport.open. What is returned or raised is what came of the last time."""
        for number in range(self._retries):
            pause_s = self._pause_s * 2**number * random.uniform(0.5, 1)  # noqa: S311
            try:
                response = await self._transport.open(request)
            except ProviderUnreachable:
                await asyncio.sleep(pause_s)
                continue
            if response.status not in TURNED_AWAY:
                return response
            request.was_sent = False
            asked_s = read_retry_after(response.headers) or 0.0
            if asked_s > MAX_WAIT_S:
                return response
            try:
                await response.read_rest()
            finally:
                response.release()
            await asyncio.sleep(max(asked_s, pause_s))
        return await self._transport.open(request)

    async def aclose(self) -> None:
        await self._transport.aclose()
