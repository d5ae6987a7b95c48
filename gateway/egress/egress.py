"""The one way out for what callers, models and settings of workspaces name (docs/adr/0070).

Each address passes the same checks in the same order: its text, the hosts that the workspace
allows, the key's fetches per minute; then, in a process of its own, the addresses that its name
has, and all of it again for each redirect. What a provider is to fetch is checked here, too.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Protocol

from gateway.core.egress import HostRules, NotFetched, Requester
from gateway.core.errors import InvalidFile, RateLimited
from gateway.egress.fetch import NOT_ALLOWED
from gateway.egress.fetch_process import FetchProcess
from gateway.egress.media_urls import MediaUrls
from gateway.egress.orders import FETCH_S, MAX_FILE_BYTES, Fetched, McpAnswer, McpOrder, Order
from gateway.outbound.locator import BadAddress, read_locator, read_url_host
from gateway.outbound.permitted_addresses import Network
from gateway.snapshot.types import KeyRecord, TargetRecord

MAX_REPLY_BYTES = 1024 * 1024
# Keys that are remembered; one that is forgotten may fetch as if it never had.
MAX_KEYS = 10_000
NS_PER_S = 10**9
TOO_MANY = "This key has fetched too many URLs. Try again later."


class Rate(Protocol):
    """What counts a key's fetches (gateway.admission.counter_protocols)."""

    async def take(self, now_ns: int) -> int: ...


# From the ids of a key and its workspace.
MakeRate = Callable[[str, str], Rate]


class Egress:
    """For all calls of a process, in one event loop.

    networks: may be connected to although they are not public, at any port. make_rate: counts the
    fetches of a key. own_hosts: this installation's, which nobody has it ask itself for.
    """

    def __init__(
        self, networks: Sequence[Network], make_rate: MakeRate, own_hosts: Collection[str] = ()
    ) -> None:
        self._networks = networks
        self._make_rate = make_rate
        self._own_hosts = tuple(own_hosts)
        self._rates: OrderedDict[str, Rate] = OrderedDict()
        self._process = FetchProcess(networks)
        self._media_urls = MediaUrls(networks)

    async def fetch(
        self, url: str, requester: Requester, *, max_bytes: int = MAX_FILE_BYTES
    ) -> Fetched:
        """Return what is there, at most three redirects followed, within FETCH_S.

        Raises NotFetched, RateLimited.
        """
        order = Order(
            url=url,
            owner=requester.workspace_id,
            hosts=self._rules_for(requester),
            max_bytes=max_bytes,
        )
        return await self._run(order, requester)

    async def send(
        self,
        url: str,
        requester: Requester,
        *,
        method: str,
        headers: Mapping[str, str] = MappingProxyType({}),
        content: bytes = b"",
        max_bytes: int = MAX_REPLY_BYTES,
        limit_s: float = FETCH_S,
    ) -> Fetched:
        """Return what answers this one request, whatever its status; no redirect is followed.

        Raises NotFetched, RateLimited.
        """
        order = Order(
            url=url,
            owner=requester.workspace_id,
            hosts=self._rules_for(requester),
            max_bytes=max_bytes,
            limit_s=limit_s,
            method=method,
            headers=dict(headers),
            content=content,
        )
        return await self._run(order, requester)

    async def ask_mcp(
        self,
        url: str,
        requester: Requester,
        *,
        headers: Mapping[str, str],
        tool: str,
        arguments: Mapping[str, object],
        limit_s: float,
        max_bytes: int,
    ) -> McpAnswer:
        """Return what a tool of a remote MCP server returns. Raises NotFetched, RateLimited."""
        question = McpOrder(
            url=url,
            owner=requester.workspace_id,
            hosts=self._rules_for(requester),
            headers=dict(headers),
            max_bytes=max_bytes,
            limit_s=limit_s,
            tool=tool,
            arguments=dict(arguments),
        )
        await self._admit(url, question.hosts, requester)
        return await self._process.ask(question)

    async def check_media(
        self,
        urls: Iterable[tuple[str, str]],
        targets: Iterable[TargetRecord],
        requester: Requester,
        *,
        may_go_elsewhere: bool,
    ) -> None:
        """Return when a provider may be given these addresses to fetch (gateway.egress.media_urls).

        Raises InvalidFile.
        """
        urls = tuple(urls)
        if requester.hosts is not None:
            for param, url in urls:
                check_host(url, requester.hosts, param)
        await self._media_urls.check(
            urls, targets, requester.workspace_id, may_go_elsewhere=may_go_elsewhere
        )

    async def aclose(self) -> None:
        await self._process.aclose()
        self._media_urls.close()

    async def _run(self, order: Order, requester: Requester) -> Fetched:
        await self._admit(order.url, order.hosts, requester)
        return await self._process.fetch(order)

    async def _admit(self, text: str, hosts: HostRules, requester: Requester) -> None:
        """Raises NotFetched, RateLimited."""
        try:
            url = read_locator(text, self._networks)
        except BadAddress as error:
            raise NotFetched(str(error)) from None
        if not hosts.allow(url.raw_host or ""):
            raise NotFetched(NOT_ALLOWED)
        await self._count(requester)

    def _rules_for(self, requester: Requester) -> HostRules:
        rules = requester.hosts or HostRules()
        return HostRules(rules.allowed, (*rules.denied, *self._own_hosts))

    async def _count(self, requester: Requester) -> None:
        """Raises RateLimited."""
        rate = self._rates.get(requester.key_id)
        if rate is None:
            rate = self._make_rate(requester.key_id, requester.workspace_id)
            self._rates[requester.key_id] = rate
            if len(self._rates) > MAX_KEYS:
                self._rates.popitem(last=False)
        self._rates.move_to_end(requester.key_id)
        if wait_ns := await rate.take(time.monotonic_ns()):
            raise RateLimited(TOO_MANY, retry_after_s=-(-wait_ns // NS_PER_S))


def check_host(url: str, rules: HostRules, param: str) -> None:
    """Raise InvalidFile for an address at a host that the rules do not allow."""
    try:
        host = read_url_host(url)
    except BadAddress as error:
        raise InvalidFile(str(error), param=param) from None
    if not rules.allow(host):
        raise InvalidFile(NOT_ALLOWED, param=param)


def requester_of(key: KeyRecord) -> Requester:
    return Requester(key.workspace_id, key.key_id, key.hosts)
