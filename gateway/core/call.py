"""One call to a model: what holds for every operation, and what the operation asks for."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Generic, TypeVar

import msgspec
from msgspec.structs import replace

from gateway.core.call_credentials import CallCredentials
from gateway.core.errors import GatewayError, RequestError
from gateway.core.files import Attachment
from gateway.core.json_types import JsonObject
from gateway.core.processing import Processing
from gateway.core.server_tools import CallTool, WantedTool


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
    # The whole request, as it came; of a form with a file what stands for it, as JSON.
    body: bytes
    # The names to fall back to; None when the caller leaves that to the model.
    fallback_names: Sequence[str] | None = None
    # What the call brings for its providers, taken out of the body; None for nothing.
    credentials: CallCredentials | None = None
    # Only providers on premises may serve it, whichever model does.
    needs_local: bool = False


class NativeBody(msgspec.Struct, frozen=True, kw_only=True):
    """A request in the format it came in, for providers whose dialect that is
    (docs/adr/0063)."""

    # As gateway.providers.catalogue names it.
    dialect: str
    # As Payload.fields, in this format's spelling. What identifies a user is respelled already.
    fields: Mapping[str, bytes]
    # Headers of the caller's that belong to the request, names in lower case.
    headers: Mapping[str, str] = msgspec.field(default_factory=dict)


class NativeOnly(msgspec.Struct, frozen=True, kw_only=True):
    """What of a request cannot be said in OpenAI's spelling."""

    # Providers of this dialect can be told.
    dialect: str
    # Fields that others do not get. Those that a provider of the dialect takes even where the body
    # is not the caller's own any more stand among Payload.fields, too.
    fields: tuple[str, ...] = ()
    # Fields that no provider gets. They are not among Payload.fields.
    left_out: tuple[str, ...] = ()
    # The path of what only the caller's own body can say and must not be left out, and what it is;
    # None for nothing.
    part: tuple[str, str] | None = None


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """A stored call and its answer, each as it was sent."""

    request: JsonObject
    response: JsonObject


class History(msgspec.Struct, frozen=True, kw_only=True):
    """What a call goes on from."""

    # The first one first.
    turns: Sequence[Turn] = ()
    # Parts of stored answers, by their IDs.
    items: Mapping[str, JsonObject] = msgspec.field(default_factory=dict)


class Earlier(msgspec.Struct, frozen=True, kw_only=True):
    """Stored answers that a call refers to: it can be read to its end once they are found."""

    # The answer that the call goes on from; empty where there is none.
    answer_id: str
    # Parts of such answers, by their IDs, and where each stands in the request.
    items: Mapping[str, str]
    # Raises as Endpoint.read does.
    read_on: Callable[[History], AnyCall]


class Payload(msgspec.Struct, frozen=True, kw_only=True):
    """What an operation asks for. Operations derive their own (gateway.core.chat)."""

    # What is asked of the model: providers have an adapter per operation.
    operation: ClassVar[str]
    # The top-level fields in their order, each as raw JSON bytes, in OpenAI's spelling whatever
    # format the call came in. A provider of that format gets these bytes.
    fields: Mapping[str, bytes]
    # The request in its own format; None where that is OpenAI's, and once the fields are not what
    # the caller wrote any more.
    native: NativeBody | None = None
    # None where the fields say everything.
    native_only: NativeOnly | None = None
    # Names of fields that are neither known here nor ours.
    unknown: tuple[str, ...] = ()
    # Abilities that the request asks of the model: vision, audio, pdf.
    needs: frozenset[str] = frozenset()
    # Names of fields inside the messages that not every provider takes.
    message_fields: frozenset[str] = frozenset()
    # Answers that are asked for.
    n: int = 1
    # Files that have to be fetched, and PDFs.
    files: tuple[Attachment, ...] = ()
    # URLs that stay in the request, each after its path in it.
    media_urls: tuple[tuple[str, str], ...] = ()
    # Names of the processors that the request goes through before it is admitted.
    processors: tuple[str, ...] = ()
    # What they did; None for calls without.
    processing: Processing | None = None
    # The plugins that the call names, and the tools that they stand for once those are known.
    server_tools: tuple[WantedTool, ...] = ()
    tools: tuple[CallTool, ...] = ()
    # Stored answers that have to be found first; nothing else here is known then.
    earlier: Earlier | None = None
    # PDFs are sent as their text, whatever the model reads.
    wants_pdf_text: bool = False
    # Pages of PDFs that were made into pictures, each for pdf_page_nusd.
    pdf_pages: int = 0
    pdf_page_nusd: int = 0

    @property
    def answer_type(self) -> str:
        """The media type of the answer where that is no JSON, and no server-sent events where it is
        a stream: then the stream is nothing but the bytes of that type."""
        return ""

    @property
    def bytes_per_token(self) -> int:
        """How many bytes of such an answer are about one token of output, for our own count; 0
        where an answer is no bytes."""
        return 0

    def place_of(self, name: str) -> str:
        """Return where a member of `fields` stands in the caller's request, as that spells it."""
        return name

    def places_of(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return where these members stand, sorted."""
        return tuple(sorted({self.place_of(name) for name in names})) if names else ()

    def locate(self, error: GatewayError) -> None:
        """Let an error name the fields at fault as the caller's request does."""
        rename_fields(error, self.place_of)

    def has(self, name: str) -> bool:
        """True when the field has a value: null means absent throughout."""
        return self.fields.get(name, b"null") != b"null"


_WORD = re.compile(r"[^\s,]+")


def rename_fields(error: GatewayError, place_of: Callable[[str], str]) -> None:
    """Let an error name fields by their places. What a provider said stays as it is."""
    listed = error.details.get("params", ())
    places = {name: place_of(name) for name in (error.param, *listed) if name}
    if error.param:
        error.param = places[error.param]
    if listed:
        error.details["params"] = [places[name] for name in listed]
    if isinstance(error, RequestError):
        error.message = _WORD.sub(lambda found: _place_of_word(found[0], places), error.message)


def _place_of_word(word: str, places: Mapping[str, str]) -> str:
    bare = word.rstrip(".:")
    return places.get(bare, bare) + word[len(bare) :]


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
        buffered = replace(self, facts=replace(self.facts, stream=False))
        # Nothing else is asked: the body in its own format stays good.
        return buffered.with_payload(fields=fields, native=self.payload.native)

    def with_credentials(self, credentials: CallCredentials) -> Call[P_co]:
        """Return the call with what it brings for its providers."""
        return replace(self, facts=replace(self.facts, credentials=credentials))

    def with_payload(self, **changes: object) -> Call[P_co]:
        """Return the call with some attributes of its payload changed; with other fields it is no
        more what the caller wrote, so its native body goes."""
        if "fields" in changes:
            changes.setdefault("native", None)
        return replace(self, payload=replace(self.payload, **changes))


# Of any operation.
AnyCall = Call[Any]
