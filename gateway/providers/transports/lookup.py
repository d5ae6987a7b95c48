"""Which transport carries the calls to a target."""

from __future__ import annotations

from dataclasses import dataclass

from gateway.providers.simulated import SimulatedTransport
from gateway.providers.transports.base import Transport
from gateway.providers.transports.dialing import Dialer
from gateway.providers.transports.direct import DirectTransport
from gateway.providers.transports.httpx_transports import HttpxTransports
from gateway.providers.transports.retrying import RetryingTransport
from gateway.snapshot.types import TargetRecord


@dataclass(slots=True)
class Transports:
    """How requests reach providers: over the network, or not at all."""

    direct: Transport
    simulated: Transport
    httpx: HttpxTransports

    def for_target(self, target: TargetRecord) -> Transport:
        if target.connection is not None:
            return self.httpx.find(target.connection)
        return self.simulated if target.kind == "simulated" else self.direct

    async def aclose(self) -> None:
        await self.direct.aclose()
        await self.httpx.aclose()


def open_transports(*, connect_s: float, takes_link_local: bool, retries: int) -> Transports:
    """Return the transports of a process. retries: how often a target is asked again that did not
    take a request."""
    dialer = Dialer(takes_link_local=takes_link_local)

    def retry(transport: Transport) -> Transport:
        return RetryingTransport(transport, retries) if retries else transport

    return Transports(
        direct=retry(DirectTransport(connect_s=connect_s, dialer=dialer)),
        simulated=SimulatedTransport(),
        httpx=HttpxTransports(connect_s=connect_s, dialer=dialer, wrap=retry),
    )
