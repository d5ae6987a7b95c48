"""The contract every transport keeps.

What matters for money is kept apart: a request that never left may be tried again blindly
(ProviderUnreachable), one that was sent and then dropped may have run (ProviderUnavailable).

Waiting for a first byte, for the next piece and for the whole is bounded by
gateway.streaming.call_supervisor, which sees every live call; only connecting has its own clock.
Redirects are never followed, answers come uncompressed (docs/adr/0027).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from gateway.providers.base import UpstreamRequest


class IncompleteResponse(ConnectionError):
    """The provider ended the connection before its answer was complete, or sent what is none."""


class UpstreamResponse(Protocol):
    """A provider's answer, its head read, its body not yet. Release it in every case.

    is_encoded: the body is compressed or otherwise not as it is.
    """

    status: int
    is_encoded: bool

    @property
    def headers(self) -> Mapping[str, str]:
        """The header fields, names in lower case."""

    @property
    def broken_by(self) -> tuple[type[Exception], ...]:
        """What read raises when the answer breaks off."""

    async def read(self) -> bytes:
        """Return what has arrived of the body, waiting for some; empty at its end."""

    def take_whole(self) -> bytes | None:
        """Return the whole body where all of it is there, and short. None: it is to be read."""

    async def forward(self, take: Callable[[bytes], bool]) -> bool:
        """Hand over each piece of the body as it arrives, until `take` says False; return whether
        it did: else this is the end."""

    async def read_rest(self) -> None:
        """Read on to the end if that is near, so that the connection can be used again."""

    def release(self) -> None:
        """Give the connection back when the body was read to its end, else cut it."""


class Transport(Protocol):
    """Anything that can carry a request to a provider."""

    async def open(self, request: UpstreamRequest) -> UpstreamResponse:
        """Send the request and return when the head of the answer is there.

        Raises ProviderUnreachable when nothing was sent, ProviderUnavailable when the
        connection broke after that.
        """

    async def aclose(self) -> None:
        """Close every connection."""
