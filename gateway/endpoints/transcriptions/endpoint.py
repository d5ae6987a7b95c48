"""POST /audio/transcriptions and /audio/translations: OpenAI's forms in; its JSON, subtitles, text
and events out."""

from __future__ import annotations

from typing import ClassVar, TypeVar

from msgspec.structs import replace

from gateway.core.audio import (
    MOST_TOKENS_PER_S,
    MS_PER_S,
    TranscriptionsCall,
    TranscriptionsRequest,
    TranslationsRequest,
)
from gateway.core.call import Call
from gateway.core.cost_bound import CostBound
from gateway.core.errors import UnsupportedParameter
from gateway.core.files import ReadyFile
from gateway.core.json_types import JsonObject
from gateway.core.profiles import Profile
from gateway.core.prompt_parts import PromptParts
from gateway.core.request import RequestHead
from gateway.core.token_bounds import bound_tokens
from gateway.endpoints.base import AnswerForm
from gateway.endpoints.description import EndpointDescription, Schemas
from gateway.endpoints.form_reading import FILE, read_request, recording_of
from gateway.endpoints.json_schema import complete_common, complete_form
from gateway.endpoints.plain import PlainReader, bound_prompt
from gateway.endpoints.rules import Rules
from gateway.endpoints.transcriptions import schema
from gateway.endpoints.transcriptions.schema import TranscriptionRequest, TranslationRequest
from gateway.endpoints.transcriptions.write import TranscriptEventWriter, TranscriptWriter
from gateway.http.api_format import OPENAI_FORMS
from gateway.snapshot.types import ModelRecord

STREAMED = frozenset({"json", "text", "diarized_json"})
# Nobody speaks faster.
TOKENS_SAID_PER_S = 10
EXAMPLE: JsonObject = {
    "model": "tollhouse/simulated",
    FILE: {"filename": "hello.mp3", "bytes": 16_000},
}
R = TypeVar("R", TranscriptionRequest, TranslationRequest)


class Translations:
    """An Endpoint (gateway.endpoints.base)."""

    name = "translations"
    operation = "translations"
    scope = "completions"
    api_format = OPENAI_FORMS
    paths: ClassVar[tuple[str, ...]] = ("audio/translations",)

    def __init__(self, rules: Rules) -> None:
        self._rules = rules

    def describe(self) -> EndpointDescription:
        return EndpointDescription(
            operation_id="createTranslation",
            summary="Translate audio into English text",
            answer="The text, in the form of response_format.",
            request=TranslationRequest,
            response=schema.TranscriptionResponse,
            response_types=("application/json", "text/plain"),
            examples={"file": EXAMPLE},
            complete=complete_translations,
        )

    def read(self, body: bytes, head: RequestHead, profile: Profile) -> TranscriptionsCall:
        return read_call(body, head, self._rules, schema.translations, TranslationsRequest)

    def check_context(self, call: TranscriptionsCall, model: ModelRecord) -> None:
        """Providers say how long a recording may be."""

    def cost_bound(self, call: TranscriptionsCall, model: ModelRecord) -> CostBound:
        """Tokens of output cannot be limited: where they have a price, there may be as many as the
        model's output."""
        payload, most_ms = call.payload, call.payload.recording.most_ms
        limit_tokens = model.max_output_tokens
        units = {"second": most_ms, "completion": limit_tokens}
        bound = bound_prompt(model, payload.prompt_tokens_bound, units)
        if not bound.price.output_pusd:
            limit_tokens = max(limit_tokens, most_ms * TOKENS_SAID_PER_S // MS_PER_S)
        return replace(bound, limit_tokens=limit_tokens)

    def prompt_parts(self, call: TranscriptionsCall) -> PromptParts:
        payload, recording = call.payload, call.payload.recording
        return PromptParts(
            messages=0,
            texts=[payload.prompt],
            files=[ReadyFile(recording.content, recording.kind, recording.filename)],
            units={"second": recording.likely_ms},
        )

    def open_writer(self, call: TranscriptionsCall, form: AnswerForm) -> TranscriptWriter:
        return TranscriptWriter(form, call.payload.form)

    def open_stream_writer(
        self, call: TranscriptionsCall, form: AnswerForm
    ) -> TranscriptEventWriter:
        return TranscriptEventWriter(form)


class Transcriptions(Translations):
    """The same, in the language of the recording."""

    name = "transcriptions"
    operation = "transcriptions"
    paths: ClassVar[tuple[str, ...]] = ("audio/transcriptions",)

    def describe(self) -> EndpointDescription:
        return EndpointDescription(
            operation_id="createTranscription",
            summary="Transcribe audio",
            answer="The text, in the form of response_format. With stream: true, a stream of "
            "events.",
            request=TranscriptionRequest,
            response=schema.TranscriptionResponse,
            response_types=("application/json", "text/plain"),
            events=(schema.TranscriptDelta, schema.TranscriptSegment, schema.TranscriptDone),
            examples={"file": EXAMPLE},
            complete=complete_transcriptions,
        )

    def read(self, body: bytes, head: RequestHead, profile: Profile) -> TranscriptionsCall:
        return read_call(body, head, self._rules, schema.transcriptions, TranscriptionsRequest)


def read_call(
    body: bytes,
    head: RequestHead,
    rules: Rules,
    reader: PlainReader[R],
    payload_type: type[TranscriptionsRequest],
) -> TranscriptionsCall:
    """Return what the form asks for. Raises InvalidJson or RequestError with `param`."""
    given = read_request(body, head, schema.RULES)
    request, fields, unknown, facts = reader.read(given.body, head, rules)
    form = request.response_format or "json"
    stream = fields.get("stream") == b"true"
    if stream and form not in STREAMED:
        raise UnsupportedParameter(
            f"response_format {form} cannot be streamed.", param="response_format"
        )
    recording = recording_of(request.file, given.content, rules.audio_s)
    del fields[FILE]
    payload = payload_type(
        fields=fields,
        unknown=unknown,
        recording=recording,
        prompt=request.prompt or "",
        form="json" if stream and form == "text" else form,
        prompt_tokens_bound=bound_tokens(request.prompt or "")
        + recording.most_ms * MOST_TOKENS_PER_S // MS_PER_S,
    )
    return Call(replace(facts, stream=stream, credentials=given.credentials), payload)


def complete_translations(schemas: Schemas) -> None:
    _complete(schemas, TranslationRequest, schema.translations)


def complete_transcriptions(schemas: Schemas) -> None:
    _complete(schemas, TranscriptionRequest, schema.transcriptions)


def _complete(schemas: Schemas, request_type: type[R], reader: PlainReader[R]) -> None:
    request = schemas[request_type.__name__]
    complete_common(request, reader.known)
    complete_form(request, FILE)
