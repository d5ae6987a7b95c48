"""Single requests by a provider's own connection settings: what tests its connection."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from yarl import URL

from gateway.core.errors import UpstreamError
from gateway.core.provider_connection import ConnectionSettings
from gateway.outbound.client import FAILURES, Reply
from gateway.outbound.guarded_sockets import TooLarge
from gateway.providers.base import UpstreamRequest
from gateway.providers.transports.dialing import Dialer
from gateway.providers.transports.httpx_transport import HttpxTransport
from gateway.providers.transports.loop_quotas import LoopQuotas


class HttpxClient:
    """As GuardedClient. Raises ValueError for certificates that cannot be used. For one loop."""

    def __init__(
        self, settings: ConnectionSettings, *, max_bytes: int, connect_s: float, dialer: Dialer
    ) -> None:
        quotas = LoopQuotas(asyncio.get_running_loop())
        self._max_bytes = max_bytes
        self._transport = HttpxTransport(
            settings, connect_s=connect_s, dialer=dialer, quotas=quotas
        )

    async def send(
        self, url: URL, *, method: str, headers: Mapping[str, str], content: bytes = b""
    ) -> Reply:
        """Return what answers. Raises TooLarge, or what the connection failed with."""
        fields = {"accept-encoding": "identity", "user-agent": "tollhouse", **headers}
        request = UpstreamRequest(url=str(url), headers=fields, body=content)
        try:
            response = await self._transport.open(request, method=method)
        except UpstreamError as error:
            cause = error.__cause__
            raise cause if isinstance(cause, FAILURES) else OSError(error.message) from cause
        body = bytearray()
        try:
            while piece := await response.read():
                body += piece
                if len(body) > self._max_bytes:
                    raise TooLarge
        finally:
            response.release()
        return Reply(response.status, bytes(body))

    async def aclose(self) -> None:
        await self._transport.aclose()
