"""The transports by httpx of a process: one for each kind of connection that providers have."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection

from gateway.core.errors import ProviderUnreachable
from gateway.core.provider_connection import ConnectionSettings
from gateway.providers.base import UpstreamRequest
from gateway.providers.transports.base import Transport, UpstreamResponse
from gateway.providers.transports.dialing import Dialer
from gateway.providers.transports.httpx_transport import HttpxTransport
from gateway.providers.transports.loop_quotas import LoopQuotas


class HttpxTransports:
    """For one loop. wrap: makes of each transport what calls use."""

    def __init__(
        self, *, connect_s: float, dialer: Dialer, wrap: Callable[[Transport], Transport]
    ) -> None:
        self._connect_s = connect_s
        self._dialer = dialer
        self._wrap = wrap
        self._quotas: LoopQuotas | None = None  # made when the loop runs
        self._opened: dict[ConnectionSettings, HttpxTransport] = {}
        self._by_settings: dict[ConnectionSettings, Transport] = {}

    def find(self, settings: ConnectionSettings) -> Transport:
        """Return the transport for such connections."""
        return self._by_settings.get(settings) or self._make(settings)

    def keep(self, settings: Collection[ConnectionSettings]) -> None:
        """Let connections of all other kinds go."""
        for old in [one for one in self._by_settings if one not in settings]:
            del self._by_settings[old]
            if (opened := self._opened.pop(old, None)) is not None:
                opened.retire()

    async def aclose(self) -> None:
        for transport in self._opened.values():
            await transport.aclose()

    def _make(self, settings: ConnectionSettings) -> Transport:
        if self._quotas is None:
            self._quotas = LoopQuotas(asyncio.get_running_loop())
        made: Transport
        try:
            made = self._opened[settings] = HttpxTransport(
                settings, connect_s=self._connect_s, dialer=self._dialer, quotas=self._quotas
            )
        except (ValueError, OSError) as error:
            made = UnusableTransport(type(error).__name__)
        self._by_settings[settings] = self._wrap(made)
        return self._by_settings[settings]


class UnusableTransport:
    """For certificates that TLS does not take, though they were checked when they were saved."""

    def __init__(self, reason: str) -> None:
        self._reason = reason

    async def open(self, request: UpstreamRequest) -> UpstreamResponse:
        raise ProviderUnreachable(
            "The provider's certificates cannot be used.", detail=self._reason
        )

    async def aclose(self) -> None:
        pass
