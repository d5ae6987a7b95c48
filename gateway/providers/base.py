"""The contract every provider adapter keeps.

There is one per dialect and operation, found by gateway.providers.registry. It turns a Call into
an UpstreamRequest and upstream bytes into events; gateway.providers.transports owns the sockets.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol, TypeVar

import msgspec

from gateway.core.call import Call, Payload
from gateway.core.errors import UpstreamError
from gateway.core.events import Answer, StreamEvent
from gateway.core.grant import Grant
from gateway.snapshot.types import TargetRecord

P_contra = TypeVar("P_contra", bound=Payload, contravariant=True)


class UpstreamRequest(msgspec.Struct, kw_only=True):
    """An HTTP request. Always POST; the body is what its headers say, mostly JSON."""

    url: str
    headers: Mapping[str, str]
    body: bytes
    # About how long the prompt is, for the built-in simulated provider.
    prompt_tokens: int = 0
    # Its bytes have gone out, and the provider has not turned it away.
    was_sent: bool = False
    # Its stream may end without a finish_reason.
    omits_finish_reason: bool = False
    # Each piece of its stream has all that was said before it.
    repeats_answer: bool = False
    # Reasoning is in the text of its answer, in <think> tags.
    thinks_in_content: bool = False
    # Its answer is an object, of which callers see the choice in it alone.
    wraps_choice: bool = False
    # It is in the format of the caller's, which its adapter has beside its own.
    is_native: bool = False
    # What else than its headers must never be quoted.
    hidden: tuple[str, ...] = ()
    # Vectors that are asked for.
    answers: int = 1
    # Filled with the headers of the answer, where its adapter reads them; None where it does not.
    answer_headers: dict[str, str] | None = None
    # Requests for the rest of the inputs, where the provider takes them in parts only.
    further: tuple[UpstreamRequest, ...] = ()

    def __repr__(self) -> str:
        return f"UpstreamRequest({self.url})"


class Framing(Protocol):
    """Cuts a streamed body into frames (gateway.providers.framing). One per attempt."""

    def feed(self, chunk: bytes) -> Iterable[bytes]:
        """Return the frames that this chunk completes. Raises StreamBroken, after the frames before
        what is wrong where it can."""

    def finish(self) -> Iterable[bytes]:
        """Return the frame that was left open when the body ended, if it can be read. Raises
        StreamBroken where the body cannot have ended there."""


class Decoder(Protocol):
    """Translates one streamed answer. One per attempt."""

    @property
    def framing(self) -> Framing:
        """The framing of the dialect."""

    def read(self, frame: bytes) -> list[StreamEvent]:
        """Return the events of one frame.

        Raises StreamBroken when it makes no sense, or the UpstreamError that it reports.
        """


class Adapter(Protocol[P_contra]):
    """Translates calls of one operation to one dialect and its answers back. Performs no I/O.

    Stateless; one instance serves every call in the process.
    """

    # Fields that every provider of the dialect takes, `n` as far as it is 1. Whatever else a call
    # has is put to `check`.
    supported: frozenset[str]

    def check(self, call: Call[P_contra], target: TargetRecord) -> Iterable[str]:
        """Return the names of fields that would be dropped.

        Raises UnsupportedParameter for what must not be dropped in silence.
        """

    def build_request(
        self, call: Call[P_contra], grant: Grant, target: TargetRecord
    ) -> UpstreamRequest:
        """Translate a call that passed the check."""

    def read_answer(self, body: bytes, request: UpstreamRequest) -> Answer:
        """Translate a complete, buffered answer. Raises UpstreamError when it makes no sense, or is
        not what the request asked for."""

    def open_decoder(self, request: UpstreamRequest) -> Decoder:
        """Return a fresh decoder for the streamed answer to this request: an adapter may ask in
        more than one form."""

    def read_error(self, status: int, headers: Mapping[str, str], body: bytes) -> UpstreamError:
        """Classify a non-2xx answer. Never raises; header names are lower case."""

    def secrets(self, request: UpstreamRequest) -> tuple[bytes, ...]:
        """Return every byte string of the request that must never be quoted, whatever header or
        query it rides in (gateway.providers.secrets)."""


# Whatever its operation: the registry gives an adapter only calls of its own.
AnyAdapter = Adapter[Any]
