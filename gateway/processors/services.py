"""Asks services of a workspace's own, which speak Presidio's or LanguageTool's HTTP.

What fails is tried again three times, like an engine; then the call that needs it is refused.
Nothing of a text is logged.
"""

from __future__ import annotations

import asyncio
import logging
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from ipaddress import IPv4Address, IPv6Address
from typing import TypeVar
from urllib.parse import urlencode

import msgspec
from yarl import URL

from gateway.core.fair_semaphore import FairSemaphore
from gateway.core.processor_errors import ProcessorFailure
from gateway.core.processor_rules import ServiceSettings
from gateway.outbound.client import FAILURES, GuardedClient
from gateway.outbound.guarded_sockets import TooLarge
from gateway.outbound.permitted_addresses import Network, unwrapped

logger = logging.getLogger(__name__)

ANSWER_BYTES = 8 * 1024 * 1024
RUN_S = 10.0
RETRY_AFTER_S = (0.2, 0.4, 0.8)
# Requests at once, of all workspaces and of one.
MAX_AT_ONCE, MAX_OF_ONE = 64, 8
NOT_ALLOWED = "the access rules of the workspace do not allow its host"
# What is encrypted, and for which row.
OpenSecret = Callable[[bytes, str], str]


class ServiceFailed(Exception):
    """A service gave no answer that can be used. The text says why, and nothing of the request."""


class Misspelling(msgspec.Struct, frozen=True):
    """A place in a text, in characters, and what to put there."""

    start: int
    end: int
    replacement: str


class _Entity(msgspec.Struct):
    entity_type: str
    start: int
    end: int
    score: float = 1.0


class _Replacement(msgspec.Struct):
    value: str


class _Match(msgspec.Struct):
    offset: int
    length: int
    replacements: list[_Replacement] = []


class _Matches(msgspec.Struct):
    matches: list[_Match] = []


_read_entities = msgspec.json.Decoder(list[_Entity]).decode
_read_matches = msgspec.json.Decoder(_Matches).decode
Found = tuple[str, int, int, float]
T = TypeVar("T")


class ServiceClient:
    """For all calls of a process. allowed: networks that may be asked beside the public ones."""

    def __init__(
        self,
        allowed: Sequence[Network],
        open_secret: OpenSecret,
        *,
        run_s: float = RUN_S,
        retry_after_s: Sequence[float] = RETRY_AFTER_S,
    ) -> None:
        self._client = GuardedClient(allowed, max_bytes=ANSWER_BYTES)

        def permits(address: IPv4Address | IPv6Address, port: int) -> bool:
            return any(unwrapped(address) in network for network in allowed)

        # What is not encrypted stays in the operator's networks.
        self._plain = GuardedClient(allowed, max_bytes=ANSWER_BYTES, permits=permits)
        self._open_secret = open_secret
        self._run_s = run_s
        self._retry_after_s = retry_after_s
        self._semaphore = FairSemaphore(MAX_AT_ONCE, MAX_OF_ONE)

    async def find_entities(
        self, service: ServiceSettings, text: str, language: str, threshold: float
    ) -> list[Found]:
        """Return what a Presidio finds in a text: type, start, end and score. Raises
        ProcessorFailure."""
        asked = {"text": text, "language": language, "score_threshold": threshold}
        body = msgspec.json.encode(asked)
        answer = await self._ask(service, "analyze", body, "application/json", _read_entities)
        return [
            (one.entity_type, one.start, one.end, one.score)
            for one in answer
            if 0 <= one.start < one.end <= len(text) and one.score >= threshold
        ]

    async def find_misspellings(
        self, service: ServiceSettings, text: str, language: str, level: str
    ) -> list[Misspelling]:
        """Return what a LanguageTool would put where in a text, its first proposal each. Raises
        ProcessorFailure."""
        asked = urlencode({"text": text, "language": language, "level": level})
        kind = "application/x-www-form-urlencoded"
        answer = await self._ask(service, "v2/check", asked.encode(), kind, _read_matches)
        places = Utf16Places(text)
        return [
            Misspelling(
                places.to_characters(one.offset),
                places.to_characters(one.offset + one.length),
                one.replacements[0].value,
            )
            for one in answer.matches
            if one.replacements and one.length > 0 and one.offset >= 0
        ]

    async def aclose(self) -> None:
        await self._client.aclose()
        await self._plain.aclose()

    async def _ask(
        self,
        service: ServiceSettings,
        path: str,
        body: bytes,
        content_type: str,
        read: Callable[[bytes], T],
    ) -> T:
        if not service.hosts.allow(URL(service.url).raw_host or ""):
            raise ProcessorFailure(f"The service {service.service_id} failed.", detail=NOT_ALLOWED)
        for wait_s in (*self._retry_after_s, None):
            try:
                async with self._semaphore.slot(service.row_id):
                    return read(await self._send(service, path, body, content_type))
            except (ServiceFailed, msgspec.MsgspecError) as error:
                is_said = isinstance(error, ServiceFailed)
                why = str(error) if is_said else "its response is not valid"
                logger.error("The service %s failed: %s", service.row_id, why)
                if wait_s is None:
                    raise ProcessorFailure(
                        f"The service {service.service_id} failed.", detail=why
                    ) from None
            await asyncio.sleep(wait_s)
        raise AssertionError("The last try returns or raises.")

    async def _send(
        self, service: ServiceSettings, path: str, body: bytes, content_type: str
    ) -> bytes:
        """Raises ServiceFailed."""
        headers: Mapping[str, str] = {"content-type": content_type, "accept": "application/json"}
        if service.sealed:
            secret = self._open_secret(service.sealed, service.row_id)
            headers = {**headers, "authorization": f"Bearer {secret}"}
        url = URL(f"{service.url.rstrip('/')}/{path}")
        client = self._plain if url.scheme == "http" else self._client
        try:
            async with asyncio.timeout(self._run_s):
                reply = await client.send(url, method="POST", headers=headers, content=body)
        except TimeoutError:
            raise ServiceFailed(f"there was no response within {self._run_s:g} s") from None
        except TooLarge:
            raise ServiceFailed("its response is too long") from None
        except FAILURES as error:
            raise ServiceFailed(f"it could not be reached ({type(error).__name__})") from None
        if reply.status != 200:
            raise ServiceFailed(f"it answered {reply.status}")
        return reply.content


class Utf16Places:
    """Places in a text as Java counts them: characters beyond U+FFFF are two."""

    def __init__(self, text: str) -> None:
        self._length = len(text)
        # Where each such character stands, as Java counts.
        self._wide = [
            index + before
            for before, index in enumerate(n for n, c in enumerate(text) if ord(c) > 0xFFFF)
        ]

    def to_characters(self, place: int) -> int:
        """Return a place in characters, at most the end of the text."""
        return min(place - bisect_left(self._wide, place), self._length)
