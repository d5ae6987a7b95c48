"""HTTP clients for addresses that operators enter. They may be on private networks."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address

from django.conf import settings

from gateway.core.provider_connection import ConnectionSettings
from gateway.outbound.client import GuardedClient
from gateway.outbound.permitted_addresses import is_metadata
from gateway.outbound.provider_check import Client
from gateway.providers.transports.dialing import Dialer
from gateway.providers.transports.httpx_client import HttpxClient


def open_client(url: str, *, max_bytes: int) -> Client:
    """Return a client for an address that is no provider's: by the environment's proxy for it,
    if there is one. For the running loop."""
    proxy = settings.ENVIRONMENT_PROXIES.proxy_for(url)
    if proxy is None:
        return GuardedClient(max_bytes=max_bytes, permits=is_permitted)
    connection = ConnectionSettings(proxy_url=proxy.url, proxy_credential=proxy.credential)
    return open_httpx_client(connection, max_bytes=max_bytes)


def open_proxied_client(url: str, proxy: ConnectionSettings | None, *, max_bytes: int) -> Client:
    """Return a client as open_client does, by this proxy instead where there is one."""
    if proxy is None:
        return open_client(url, max_bytes=max_bytes)
    return open_httpx_client(proxy, max_bytes=max_bytes)


def open_httpx_client(connection: ConnectionSettings, *, max_bytes: int) -> Client:
    """Return a client that connects like calls of a provider with these settings. For the running
    loop. Raises ValueError for certificates that cannot be used."""
    return HttpxClient(
        connection,
        max_bytes=max_bytes,
        connect_s=settings.STREAM_TIMEOUTS["connect_s"],
        dialer=Dialer(takes_link_local=settings.LINK_LOCAL_PROVIDERS),
    )


def is_permitted(address: IPv4Address | IPv6Address, port: int) -> bool:
    return settings.LINK_LOCAL_PROVIDERS or not is_metadata(address)
