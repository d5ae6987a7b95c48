"""Fetches a file from a URL that a caller gave, without access to internal networks.

What went wrong behind a name is never told: whoever asks would learn what our network knows. Runs
in a process of its own (gateway.files.fetch_worker), as what a server sends costs time to read.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from email.message import Message
from urllib.parse import unquote

from yarl import URL

from gateway.core.errors import InvalidFile
from gateway.core.fair_semaphore import FairSemaphore
from gateway.outbound.client import FAILURES, GuardedClient
from gateway.outbound.guarded_sockets import LookUp, TooLarge, look_up
from gateway.outbound.locator import BadAddress, read_locator
from gateway.outbound.permitted_addresses import Network

logger = logging.getLogger(__name__)

MAX_FILE_BYTES = 20 * 1024 * 1024
FETCH_S = 20.0
# Of the whole process, and of one owner: each may keep a file in memory.
MAX_AT_ONCE = 32
MAX_OF_ONE = 8
MAX_NAME_CHARS = 1_024
FAILED = "The file could not be fetched."


class Fetcher:
    """Fetches files for all calls of a process. Keeps no connection and no cookie.

    allowed: networks that may be connected to although they are not public, at any port.
    """

    def __init__(self, allowed: Sequence[Network] = (), *, look_up: LookUp = look_up) -> None:
        self._allowed = allowed
        self._look_up = look_up
        self._client: GuardedClient | None = None
        self._semaphore = FairSemaphore(MAX_AT_ONCE, MAX_OF_ONE)

    async def fetch(self, address: str, *, owner: str, param: str) -> tuple[bytes, str]:
        """Return the file's bytes, and its name as far as its server tells it.

        owner: for whom; waiting for a turn is a part of the time there is.
        Raises InvalidFile, whose message says nothing about what was found where.
        """
        try:
            url = read_locator(address, self._allowed)
            async with asyncio.timeout(FETCH_S), self._semaphore.slot(owner):
                answer = await self._opened().get(url)
            return answer.content, read_name(answer.headers, answer.url)
        except BadAddress as error:
            raise InvalidFile(str(error), param=param) from None
        except TooLarge:
            message = f"The file is larger than {MAX_FILE_BYTES // 2**20} MB."
            raise InvalidFile(message, param=param) from None
        except TimeoutError:
            message = f"The file could not be fetched within {FETCH_S:g} s."
            raise InvalidFile(message, param=param) from None
        except FAILURES as error:
            # Not the whole of other errors: they quote the address, which may hold a signature.
            why = error if isinstance(error, OSError) else type(error).__name__
            logger.info("A file was not fetched: %s", why)
            raise InvalidFile(FAILED, param=param) from None

    async def aclose(self) -> None:
        if self._client is not None:
            await self._client.aclose()

    def _opened(self) -> GuardedClient:
        if self._client is None:
            self._client = GuardedClient(
                self._allowed, max_bytes=MAX_FILE_BYTES, look_up=self._look_up
            )
        return self._client


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
