"""The contract every provider adapter keeps.

An adapter is a translator and performs no I/O: it turns a Call into an UpstreamRequest and
upstream bytes into our events. gateway.providers.transports owns the sockets.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

import msgspec

from gateway.core.chat import ChatCall
from gateway.core.errors import UpstreamError
from gateway.core.events import Answer, StreamEvent
from gateway.core.grant import Grant
from gateway.snapshot.types import TargetRecord


class UpstreamRequest(msgspec.Struct):
    """An HTTP request. Always POST with a JSON body.

    prompt_tokens: about how long the prompt is, for the built-in simulated provider. was_sent: its
    bytes have gone out, and the provider has not turned it away. omits_finish_reason: its stream
    may end without one.
    """

    url: str
    headers: Mapping[str, str]
    body: bytes
    prompt_tokens: int = 0
    was_sent: bool = False
    omits_finish_reason: bool = False

    def __repr__(self) -> str:
        return f"UpstreamRequest({self.url})"


class Decoder(Protocol):
    """Holds what one streamed answer needs remembered between events. One per attempt."""

    def feed(self, data: bytes) -> list[StreamEvent]:
        """Return what one server-sent event amounts to.

        Raises StreamBroken when it makes no sense, or the UpstreamError that it reports.
        """


class Provider(Protocol):
    """Stateless; one instance serves every call in the process."""

    def check(self, call: ChatCall, target: TargetRecord) -> Iterable[str]:
        """Return the names of members that would be dropped.

        Raises UnsupportedParameter for what must not be dropped in silence.
        """

    def build_request(self, call: ChatCall, grant: Grant, target: TargetRecord) -> UpstreamRequest:
        """Translate a call that passed the check."""

    def read_answer(self, body: bytes) -> Answer:
        """Translate a complete, buffered answer. Raises UpstreamError when it makes no sense."""

    def open_decoder(self) -> Decoder:
        """Return a fresh decoder for one streamed answer."""

    def read_error(self, status: int, headers: Mapping[str, str], body: bytes) -> UpstreamError:
        """Classify a non-2xx answer. Never raises; header names are lower case."""

    def secrets(self, request: UpstreamRequest) -> tuple[bytes, ...]:
        """Return every byte string of the request that must never be quoted, whatever header or
        query it rides in (gateway.providers.secrets)."""
