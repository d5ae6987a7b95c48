"""One call to a model: what holds for every operation, and what the operation asks for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Generic, TypeVar

import msgspec
from msgspec.structs import replace

from gateway.core.files import Attachment


class CallFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a call whatever its operation is."""

    # As the caller wrote it.
    model: str
    stream: bool
    # The caller's own user, for the record; empty when there is none.
    user: str
    episode_id: str
    # Empty when there is none.
    idempotency_key: str
    # Nothing may be dropped on the way to the provider.
    requires_parameters: bool
    # The whole request, as it came.
    body: bytes
    # The names to fall back to; None when the caller leaves that to the model.
    fallback_names: Sequence[str] | None = None


class Payload(msgspec.Struct, frozen=True, kw_only=True):
    """What an operation asks for. Operations derive their own (gateway.core.chat)."""

    # What is asked of the model: providers have an adapter per operation.
    operation: ClassVar[str]
    # The top-level fields in their order, each as raw JSON bytes, in OpenAI's spelling whatever
    # format the call came in. A provider of that format gets these bytes.
    fields: Mapping[str, bytes]
    # Names of fields that are neither OpenAI's nor ours.
    unknown: tuple[str, ...] = ()
    # Abilities that the request asks of the model: vision, audio, pdf.
    needs: frozenset[str] = frozenset()
    # Answers that are asked for.
    n: int = 1
    # Files that have to be fetched, and PDFs.
    files: tuple[Attachment, ...] = ()
    # URLs that stay in the request, each after its path in it.
    media_urls: tuple[tuple[str, str], ...] = ()
    # Names of the processors that the request goes through before it is admitted.
    processors: tuple[str, ...] = ()
    # Names of the tools that the gateway runs for the model, and whether callers see them run.
    server_tools: tuple[tuple[str, bool], ...] = ()
    # Pages of PDFs that were made into pictures, each for pdf_page_nusd.
    pdf_pages: int = 0
    pdf_page_nusd: int = 0

    @property
    def is_replayed(self) -> bool:
        """True when a streaming caller gets a whole answer, given out as a stream."""
        return False

    def has(self, name: str) -> bool:
        """True when the field has a value: null means absent throughout."""
        return self.fields.get(name, b"null") != b"null"


STREAM_FIELDS = frozenset({"stream", "stream_options"})
P_co = TypeVar("P_co", bound=Payload, covariant=True)


class Call(msgspec.Struct, Generic[P_co], frozen=True):
    """A call: the same facts for all operations, and the payload of its own one."""

    facts: CallFacts
    payload: P_co

    def buffered(self) -> Call[P_co]:
        """Return the call without a stream."""
        fields = self.payload.fields
        fields = {name: raw for name, raw in fields.items() if name not in STREAM_FIELDS}
        return replace(self, facts=replace(self.facts, stream=False)).with_payload(fields=fields)

    def with_payload(self, **changes: object) -> Call[P_co]:
        """Return the call with some attributes of its payload changed."""
        return replace(self, payload=replace(self.payload, **changes))


# Of any operation.
AnyCall = Call[Any]
