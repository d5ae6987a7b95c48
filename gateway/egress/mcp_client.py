"""Asks a remote MCP server (streamable HTTP), with the guarded client under the protocol's own.

Runs in the fetching process (gateway.egress.fetch_worker) alone, which imports this when it is
first wanted: the package takes a second to load. Each question is a session of its own, and nothing
is kept.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator

import httpx2
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from yarl import URL

from gateway.core.egress import NotFetched
from gateway.egress.orders import MCP_UNREACHABLE, McpAnswer, McpOrder, McpTool
from gateway.outbound.client import UNCONNECTED, GuardedClient
from gateway.outbound.guarded_sockets import Forbidden, TooLarge
from gateway.outbound.locator import BadAddress, read_locator
from gateway.outbound.permitted_addresses import Network

logger = logging.getLogger(__name__)

MAX_TOOLS = 200
MAX_PAGES = 20
ERROR_CHARS = 300
HIDDEN = "[credential]"


async def ask(order: McpOrder, client: GuardedClient, allowed: tuple[Network, ...]) -> McpAnswer:
    """Return the tools of the server, or what one of them returned. Raises NotFetched; time is the
    caller's to bound."""
    guard = _Guard(order, client, allowed)
    headers = dict(order.headers)
    try:
        async with httpx2.AsyncClient(
            transport=guard, headers=headers, trust_env=False, timeout=None
        ) as http:
            link = streamable_http_client(order.url, http_client=http, terminate_on_close=False)
            async with Client(link, cache=None) as session:
                if order.tool:
                    return await _call(session, order)
                return await _list(session)
    except Exception as error:
        raise NotFetched(_explain(error, guard, order)) from None


async def _list(session: Client) -> McpAnswer:
    tools: list[McpTool] = []
    cursor = None
    for _ in range(MAX_PAGES):
        page = await session.list_tools(cursor=cursor)
        for tool in page.tools:
            schema = dict(tool.input_schema)
            tools.append(McpTool(tool.name, tool.description or "", schema))
        cursor = page.next_cursor
        if not cursor or len(tools) >= MAX_TOOLS:
            break
    return McpAnswer(tools=tools[:MAX_TOOLS])


async def _call(session: Client, order: McpOrder) -> McpAnswer:
    result = await session.call_tool(order.tool, order.arguments)
    texts = [read_block(block) for block in result.content]
    text = "\n".join(filter(None, texts))
    if not text and result.structured_content is not None:
        text = httpx2.Response(200, json=result.structured_content).text
    return McpAnswer(text=hide(text, order), is_error=bool(result.is_error))


def read_block(block: object) -> str:
    """Return the text of a block of a result; what is no text is named."""
    text = getattr(block, "text", None)
    if isinstance(text, str):
        return text
    inner = getattr(getattr(block, "resource", None), "text", None)
    if isinstance(inner, str):
        return inner
    uri = getattr(block, "uri", None)
    return f"[{getattr(block, 'type', 'content')}{f': {uri}' if uri else ''}]"


def hide(text: str, order: McpOrder) -> str:
    """Return the text without what the server was shown as its credential."""
    for value in order.headers.values():
        for secret in {value, value.rpartition(" ")[2]}:
            if len(secret) >= 4:
                text = text.replace(secret, HIDDEN)
    return text


def _explain(error: BaseException, guard: _Guard, order: McpOrder) -> str:
    """Return what went wrong, as it may be shown: what is behind a name is never told."""
    if guard.refusal:
        return guard.refusal
    found = error
    while isinstance(found, BaseExceptionGroup):
        found = found.exceptions[0]
    if isinstance(found, MCPError) and guard.has_answered:
        said = hide(" ".join(str(found).split()), order)
        return f"The MCP server answered with an error: {said[:ERROR_CHARS]}"
    logger.info("An MCP server was not asked: %s", type(found).__name__)
    if guard.status in (401, 403):
        return f"The MCP server refused the credential (HTTP {guard.status})."
    return MCP_UNREACHABLE


class _Guard(httpx2.AsyncBaseTransport):
    """The guarded client as the transport of another library. refusal: why it connected to
    nothing; status: of the last answer; is_closed: no connection came about, and whatever way the
    library tries next, none is waited for again."""

    def __init__(
        self, order: McpOrder, client: GuardedClient, allowed: tuple[Network, ...]
    ) -> None:
        self.refusal = ""
        self.status = 0
        self.has_answered = False
        self.is_closed = False
        self._order = order
        self._client = client
        self._allowed = allowed

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if self.is_closed:
            raise httpx2.ConnectError("not again")
        url = self._check(str(request.url))
        content = await request.aread()
        headers = {
            name: value
            for name, value in request.headers.items()
            if name not in ("host", "connection", "accept-encoding", "user-agent", "content-length")
        }
        try:
            response = await self._client.open(
                url, method=request.method, headers=headers, content=content
            )
        except (Forbidden, OSError, *UNCONNECTED) as error:
            self.is_closed = True
            raise httpx2.ConnectError(type(error).__name__) from None
        self.status = response.status_code
        self.has_answered = response.status_code == 200
        body = _Body(response.aiter_raw(), self._order.max_bytes, response.aclose, self)
        return httpx2.Response(
            response.status_code, headers=response.headers.multi_items(), stream=body
        )

    def _check(self, text: str) -> URL:
        """Raises ConnectError, and remembers why."""
        try:
            url = read_locator(text, self._allowed)
        except BadAddress as error:
            self.refusal = str(error)
            raise httpx2.ConnectError("refused") from None
        if not self._order.hosts.allow(url.raw_host or ""):
            self.refusal = "The access rules of the workspace do not allow this host."
            raise httpx2.ConnectError("refused")
        return url


class _Body(httpx2.AsyncByteStream):
    """A body, counted as it comes."""

    def __init__(self, pieces: AsyncIterator[bytes], max_bytes: int, close: object, guard: _Guard):
        self._pieces = pieces
        self._left = max_bytes
        self._close = close
        self._guard = guard

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for piece in self._pieces:
                self._left -= len(piece)
                if self._left < 0:
                    raise TooLarge
                yield piece
        except TooLarge:
            self._guard.refusal = "The response of the MCP server is too large."
            raise httpx2.ReadError("too large") from None
        except OSError as error:
            raise httpx2.ReadError(type(error).__name__) from None

    async def aclose(self) -> None:
        await self._close()  # type: ignore[operator]
