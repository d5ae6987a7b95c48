"""Fetches from URLs that callers and models gave, without access to internal networks.

What went wrong behind a name is never told: whoever asks would learn what our network knows. Runs
in a process of its own (gateway.egress.fetch_worker), as what a server sends costs time to read.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from email.message import Message
from urllib.parse import unquote

from yarl import URL

from gateway.core.egress import NotFetched
from gateway.core.fair_semaphore import FairSemaphore
from gateway.egress.orders import Fetched, McpAnswer, McpOrder, Order
from gateway.outbound.client import FAILURES, Answer, GuardedClient
from gateway.outbound.guarded_sockets import LookUp, TooLarge, look_up
from gateway.outbound.locator import BadAddress, read_locator
from gateway.outbound.permitted_addresses import Network

logger = logging.getLogger(__name__)

# Of the whole process, and of one owner: each may keep a file in memory.
MAX_AT_ONCE = 32
MAX_OF_ONE = 8
MAX_NAME_CHARS = 1_024
FAILED = "The URL could not be fetched."
NOT_ALLOWED = "The access rules of the workspace do not allow this host."


class Fetcher:
    """Fetches for all calls of a process. Keeps no connection and no cookie.

    allowed: networks that may be connected to although they are not public, at any port.
    """

    def __init__(self, allowed: Sequence[Network] = (), *, look_up: LookUp = look_up) -> None:
        self._allowed = allowed
        self._look_up = look_up
        self._clients: dict[int, GuardedClient] = {}
        self._semaphore = FairSemaphore(MAX_AT_ONCE, MAX_OF_ONE)

    async def fetch(self, order: Order) -> Fetched:
        """Return what is there. Raises NotFetched, which says nothing about what was found where.
        Waiting for a turn is a part of the time there is."""
        try:
            url = read_locator(order.url, self._allowed)
            async with asyncio.timeout(order.limit_s), self._semaphore.slot(order.owner):
                return await self._run(url, order)
        except BadAddress as error:
            raise NotFetched(str(error)) from None
        except TooLarge:
            raise NotFetched(f"The response is larger than {size(order.max_bytes)}.") from None
        except TimeoutError:
            message = f"The URL could not be fetched within {order.limit_s:g} s."
            raise NotFetched(message) from None
        except FAILURES as error:
            # Not the whole of other errors: they quote the address, which may hold a signature.
            why = error if isinstance(error, OSError) else type(error).__name__
            logger.info("A URL was not fetched: %s", why)
            raise NotFetched(FAILED) from None

    async def ask(self, question: McpOrder) -> McpAnswer:
        """Return what an MCP server answers. Raises NotFetched."""
        from gateway.egress.mcp_client import ask  # it takes a second to load

        client = self._client(question.max_bytes)
        try:
            async with asyncio.timeout(question.limit_s), self._semaphore.slot(question.owner):
                return await ask(question, client, tuple(self._allowed))
        except TimeoutError:
            message = f"The MCP server did not answer within {question.limit_s:g} s."
            raise NotFetched(message) from None

    async def _run(self, url: URL, order: Order) -> Fetched:
        client = self._client(order.max_bytes)
        if not order.method:
            answer = await client.get(url, permits_host=order.hosts.allow, headers=order.headers)
            return as_fetched(answer)
        if not order.hosts.allow(url.raw_host or ""):
            raise NotFetched(NOT_ALLOWED)
        reply = await client.send(
            url, method=order.method, headers=order.headers, content=order.content
        )
        content_type = reply.headers.get("content-type", "")
        return Fetched(reply.content, reply.status, url=str(url), content_type=content_type)

    async def aclose(self) -> None:
        for client in self._clients.values():
            await client.aclose()

    def _client(self, max_bytes: int) -> GuardedClient:
        """Return the client for bodies of this size: there are few sizes."""
        client = self._clients.get(max_bytes)
        if client is None:
            client = GuardedClient(self._allowed, max_bytes=max_bytes, look_up=self._look_up)
            self._clients[max_bytes] = client
        return client


def as_fetched(answer: Answer) -> Fetched:
    return Fetched(
        answer.content,
        200,
        name=read_name(answer.headers, answer.url),
        url=str(answer.url),
        content_type=answer.headers.get("content-type", ""),
    )


def size(max_bytes: int) -> str:
    """Return the size as people write it."""
    return f"{max_bytes >> 20} MB" if max_bytes >= 1 << 20 else f"{max_bytes >> 10} KB"


def read_name(headers: Mapping[str, str], url: URL) -> str:
    """Return the file's name: as the server tells it, else the end of its path."""
    disposition = headers.get("content-disposition", "")
    name = None
    if len(disposition) <= MAX_NAME_CHARS:
        header = Message()
        try:
            header["content-disposition"] = disposition
            name = header.get_filename()
        except (ValueError, LookupError):
            name = None
    return name or unquote(url.raw_path.rpartition("/")[2])
