"""Fetching a file from an address that a caller gave, without becoming the caller's hand inside.

Every hop is checked from scratch: the text of the address (gateway.files.locator), then every
address that its name has, once; the connection goes to one of those and nowhere else, and the
socket itself is refused for any other (docs/adr/0022). What went wrong behind a name is never
told: whoever asks would learn what our network knows.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from email.message import Message
from ipaddress import ip_address
from urllib.parse import unquote

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from gateway.core.errors import InvalidFile
from gateway.core.turns import Turns
from gateway.files.locator import BadAddress, next_locator, read_locator
from gateway.files.networks import Network, may_connect

logger = logging.getLogger(__name__)

MAX_REDIRECTS = 3
MAX_FILE_BYTES = 20 * 1024 * 1024
FETCH_S = 20.0
# Of the whole process, and of one owner: each may keep a file in memory. Names are looked up in
# threads of their own, which a name server that does not answer may all take.
MAX_AT_ONCE = 32
MAX_OF_ONE = 8
MAX_LOOK_UPS = 32
PIECE_BYTES = 64 * 1024
REDIRECTS = frozenset({301, 302, 303, 307, 308})
HEADERS = {"accept": "*/*", "accept-encoding": "identity", "user-agent": "tollhouse"}
FAILED = "The file could not be fetched."
LookUp = Callable[[str, int], Sequence[str]]


class Forbidden(OSError):
    """A connection that nobody may make for a caller."""


class TooLarge(Exception):
    """There are more bytes than a file may have."""


def look_up(host: str, port: int) -> list[str]:
    """Return the addresses of a name, as the system knows them. Blocks; raises OSError."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(sockaddr[0]) for *_, sockaddr in found))


class PinningResolver(AbstractResolver):
    """Resolves a name once; what it returns has been checked, or nothing is returned."""

    def __init__(self, allowed: Sequence[Network], look_up: LookUp) -> None:
        self._allowed = allowed
        self._look_up = look_up
        self._threads = ThreadPoolExecutor(MAX_LOOK_UPS, "fetch-names")

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """Raises Forbidden when any of the addresses is: such a name is up to something."""
        loop = asyncio.get_running_loop()
        addresses = await loop.run_in_executor(self._threads, self._look_up, host, port)
        if not addresses:
            raise Forbidden("the name has no address")
        for address in addresses:
            check(address, port, self._allowed)
        return [_result(host, address, port) for address in addresses]

    async def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


class Fetcher:
    """Fetches files for all calls of a process. Keeps no connection and no cookie.

    allowed: networks that may be connected to although they are not public, at any port.
    """

    def __init__(self, allowed: Sequence[Network] = (), *, look_up: LookUp = look_up) -> None:
        self._allowed = allowed
        self._look_up = look_up
        self._session: aiohttp.ClientSession | None = None
        self._turns = Turns(MAX_AT_ONCE, MAX_OF_ONE)

    async def fetch(self, address: str, *, owner: str, param: str) -> tuple[bytes, str]:
        """Return the file's bytes, and its name as far as its server tells it.

        owner: for whom; waiting for a turn is a part of the time there is.
        Raises InvalidFile, whose message says nothing about what was found where.
        """
        try:
            url = read_locator(address, self._allowed)
            async with asyncio.timeout(FETCH_S), self._turns.turn(owner):
                return await self._follow(url)
        except BadAddress as error:
            raise InvalidFile(str(error), param=param) from None
        except TooLarge:
            message = f"The file is larger than {MAX_FILE_BYTES // 2**20} MB."
            raise InvalidFile(message, param=param) from None
        except TimeoutError:
            message = f"The file could not be fetched within {FETCH_S:g} s."
            raise InvalidFile(message, param=param) from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            # Not the whole of other errors: they quote the address, which may hold a signature.
            why = error if isinstance(error, OSError) else type(error).__name__
            logger.info("A file was not fetched: %s", why)
            raise InvalidFile(FAILED, param=param) from None

    async def aclose(self) -> None:
        if self._session is not None:
            await self._session.close()

    async def _follow(self, url: URL) -> tuple[bytes, str]:
        for _ in range(MAX_REDIRECTS + 1):
            async with self._opened().get(url, headers=HEADERS, allow_redirects=False) as response:
                location = response.headers.get("location", "")
                if response.status not in REDIRECTS or not location:
                    return await _read(response), read_name(response, url)
                try:
                    url = next_locator(url, location, self._allowed)
                except BadAddress as error:
                    raise Forbidden(str(error)) from None
        raise Forbidden("too many redirects")

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            connector = aiohttp.TCPConnector(
                limit=0,
                force_close=True,
                use_dns_cache=False,
                resolver=PinningResolver(self._allowed, self._look_up),
                socket_factory=self._open_socket,
            )
            self._session = aiohttp.ClientSession(
                connector=connector,
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
                timeout=aiohttp.ClientTimeout(total=None),
                trust_env=False,
            )
        return self._session

    def _open_socket(self, info: aiohttp.AddrInfoType) -> socket.socket:
        """Return a socket for this address alone, the last moment at which it can be refused."""
        family, kind, protocol, _, place = info
        check(str(place[0]), int(place[1]), self._allowed)
        return socket.socket(family, kind, protocol)


def check(address: str, port: int, allowed: Sequence[Network]) -> None:
    """Raise Forbidden unless the address may be connected to."""
    if not may_connect(ip_address(address), port, allowed):
        raise Forbidden(f"{address}, port {port}, is not public")


def read_name(response: aiohttp.ClientResponse, url: URL) -> str:
    """Return the file's name: as the server tells it, else the end of its path."""
    header = Message()
    header["content-disposition"] = response.headers.get("content-disposition", "")
    try:
        name = header.get_filename()
    except (ValueError, LookupError):
        name = None
    return name or unquote(url.raw_path.rpartition("/")[2])


async def _read(response: aiohttp.ClientResponse) -> bytes:
    """Return the body, counted as it comes. Raises TooLarge, Forbidden for what is no file."""
    encoding = response.headers.get("content-encoding", "identity").strip().lower()
    if response.status != 200 or encoding not in ("", "identity"):
        raise Forbidden(f"answered {response.status}, encoded {encoding!r}")
    if (response.content_length or 0) > MAX_FILE_BYTES:
        raise TooLarge
    content = bytearray()
    async for piece in response.content.iter_chunked(PIECE_BYTES):
        content += piece
        if len(content) > MAX_FILE_BYTES:
            raise TooLarge
    return bytes(content)


def _result(host: str, address: str, port: int) -> ResolveResult:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    flags = socket.AI_NUMERICHOST | socket.AI_NUMERICSERV
    return ResolveResult(
        hostname=host, host=address, port=port, family=family, proto=0, flags=flags
    )
