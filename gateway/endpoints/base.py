"""What an endpoint that calls models is: one folder each, found by gateway.endpoints.registry.

Several endpoints may have the same operation: they read other formats into the same kind of call,
and write its answers in theirs.
"""

from __future__ import annotations

from typing import Any, Protocol, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from gateway.core.call import Call, Payload
from gateway.core.cost_bound import CostBound
from gateway.core.errors import GatewayError
from gateway.core.events import Answer, WrittenEvent
from gateway.core.money import credits_used
from gateway.core.processing import Processing, ProcessorSummary
from gateway.core.profiles import Profile
from gateway.core.prompt_parts import PromptParts
from gateway.core.receipt import Receipt
from gateway.core.request import RequestHead
from gateway.endpoints.description import EndpointDescription
from gateway.http.api_format import ApiFormat
from gateway.snapshot.types import ModelRecord

P = TypeVar("P", bound=Payload)


class AnswerForm(msgspec.Struct, frozen=True, kw_only=True):
    """What every frame and answer of one call has in common."""

    answer_id: str
    call_id: str
    model: str
    # Seconds since the epoch.
    created: int
    profile: Profile
    episode_id: str = ""
    # What is said is stored, and can be read again.
    is_stored: bool = False
    # Credits are shown rounded up to whole ones.
    whole_credits: bool = False
    # What the model's provider does not get, by its place in the caller's request.
    dropped_params: tuple[str, ...] = ()
    # What processors did; None where none ran.
    processing: Processing | None = None

    def summary(self) -> ProcessorSummary | UnsetType:
        """Return what the answer says of its processors, if there were any."""
        return UNSET if self.processing is None else self.processing.summary()

    def credits(self, receipt: Receipt) -> float | int:
        """Return what the call has cost, in the credits that callers are told."""
        return credits_used(receipt.charge_nusd, whole=self.whole_credits)


class Writer(Protocol):
    """Writes one call's answer in the endpoint's format."""

    def write_answer(self, answer: Answer, receipt: Receipt) -> bytes:
        """Return the body of a buffered answer."""


class StreamWriter(Writer, Protocol):
    """Writes one call's answer as a stream."""

    # A frame that says nothing, for connections that break when they are silent.
    keep_alive: bytes
    # The model that was meant and how far from it the one is that serves, where the head of a
    # stream could not say so.
    fallback: tuple[str, int] | None
    # The last frame of a stream that came to its end has all that was said: it alone is stored.
    ends_with_whole: bool

    @property
    def is_open(self) -> bool:
        """True once a stream has begun."""

    def open(self) -> bytes:
        """Return the frames that every stream begins with."""

    def write(self, event: WrittenEvent) -> bytes:
        """Return the frames of one event, possibly none."""

    def close(self, receipt: Receipt) -> list[bytes]:
        """Return the last frames of a stream, the cost known."""

    def fail(self, error: GatewayError) -> bytes:
        """Return the frames that end a stream which cannot go on."""


class Endpoint(Protocol[P]):
    """One way to call models. Stateless; one instance serves every call in the process."""

    # As the records of calls name it.
    name: str
    # What is asked of the model, which the adapters of providers are found by.
    operation: str
    # The scope that a key needs.
    scope: str
    # How errors are written, those before the endpoint reads included (gateway.http.api_format).
    api_format: ApiFormat

    # Under every mount, without a first slash. The first is the one in the OpenAPI document.
    @property
    def paths(self) -> tuple[str, ...]: ...

    def describe(self) -> EndpointDescription:
        """Return what the OpenAPI document says of the endpoint."""

    def read(self, body: bytes, head: RequestHead, profile: Profile) -> Call[P]:
        """Return the call that a request is. Raises RequestError, InvalidJson and the like."""

    def check_context(self, call: Call[P], model: ModelRecord) -> None:
        """Raise PromptTooLong for a call that cannot fit into the model."""

    def cost_bound(self, call: Call[P], model: ModelRecord) -> CostBound:
        """Return the most that the call can cost on the model."""

    def prompt_parts(self, call: Call[P]) -> PromptParts:
        """Return what the model reads, for our own count. Runs in a thread."""

    def open_writer(self, call: Call[P], form: AnswerForm) -> Writer:
        """Return the writer of a buffered answer."""

    def open_stream_writer(self, call: Call[P], form: AnswerForm) -> StreamWriter:
        """Return the writer of a streamed answer. Only for calls with `stream`."""


class TokenCounter(Endpoint[P], Protocol[P]):
    """Reads requests to count their tokens: no model is called, and nothing is charged. What
    cannot be answered is refused as for a call."""

    def write_count(self, tokens: int) -> bytes:
        """Return the body that says so many."""


# Whatever its operation: an endpoint gets only calls of its own.
AnyEndpoint = Endpoint[Any]
AnyTokenCounter = TokenCounter[Any]
