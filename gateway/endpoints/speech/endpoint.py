"""POST /audio/speech: OpenAI's format in, a file of sound out as it comes, or events."""

from __future__ import annotations

from typing import ClassVar, NoReturn

from msgspec.structs import replace

from gateway.core.audio import SpeechCall, SpeechRequest
from gateway.core.call import Call
from gateway.core.cost_bound import CostBound
from gateway.core.errors import UnsupportedParameter
from gateway.core.profiles import Profile
from gateway.core.prompt_parts import PromptParts
from gateway.core.request import RequestHead
from gateway.core.token_bounds import bound_tokens
from gateway.endpoints.base import AnswerForm, StreamWriter
from gateway.endpoints.description import EndpointDescription, Schemas
from gateway.endpoints.json_schema import complete_plain
from gateway.endpoints.plain import bound_prompt
from gateway.endpoints.rules import Rules
from gateway.endpoints.speech import schema
from gateway.endpoints.speech.schema import DEFAULT_FORMAT, MEDIA_TYPES, reader
from gateway.endpoints.speech.write import FileWriter, SpeechEventWriter
from gateway.http.api_format import OPENAI_EVENTS
from gateway.snapshot.types import ModelRecord


class Speech:
    """An Endpoint (gateway.endpoints.base)."""

    name = "speech"
    operation = "speech"
    scope = "completions"
    api_format = OPENAI_EVENTS
    paths: ClassVar[tuple[str, ...]] = ("audio/speech",)

    def __init__(self, rules: Rules) -> None:
        self._rules = rules

    def describe(self) -> EndpointDescription:
        return EndpointDescription(
            operation_id="createSpeech",
            summary="Generate speech from text",
            answer="The file, as it is made. With stream_format: sse, a stream of events.",
            request=schema.SpeechRequest,
            response=schema.SpeechFile,
            response_types=tuple(sorted(set(MEDIA_TYPES.values()))),
            events=(schema.SpeechDelta, schema.SpeechDone),
            examples={
                "file": {"model": "tollhouse/simulated", "input": "Hello.", "voice": "alloy"},
            },
            complete=complete,
        )

    def read(self, body: bytes, head: RequestHead, profile: Profile) -> SpeechCall:
        request, fields, unknown, facts = reader.read(body, head, self._rules)
        texts = (request.input, request.instructions or "")
        payload = SpeechRequest(
            fields=fields,
            unknown=unknown,
            text=texts[0],
            instructions=texts[1],
            media_type=MEDIA_TYPES[request.response_format or DEFAULT_FORMAT],
            has_events=request.stream_format == "sse",
            prompt_tokens_bound=sum(map(bound_tokens, texts)),
        )
        # It comes as it is made, whichever form it has.
        return Call(replace(facts, stream=True), payload)

    def check_context(self, call: SpeechCall, model: ModelRecord) -> None:
        """Providers say how long a text may be."""

    def cost_bound(self, call: SpeechCall, model: ModelRecord) -> CostBound:
        """Tokens of speech cannot be limited: where they have a price, there may be as many as the
        model's output."""
        payload = call.payload
        units = {"character": len(payload.text), "completion": model.max_output_tokens}
        return bound_prompt(model, payload.prompt_tokens_bound, units)

    def prompt_parts(self, call: SpeechCall) -> PromptParts:
        payload = call.payload
        return PromptParts(
            messages=0,
            texts=[payload.text, payload.instructions],
            units={"character": len(payload.text)},
        )

    def open_writer(self, call: SpeechCall, form: AnswerForm) -> NoReturn:
        raise UnsupportedParameter("Speech is always streamed.", param="stream")

    def open_stream_writer(self, call: SpeechCall, form: AnswerForm) -> StreamWriter:
        return SpeechEventWriter(form) if call.payload.has_events else FileWriter()


def complete(schemas: Schemas) -> None:
    complete_plain(schemas[schema.SpeechRequest.__name__], reader.known, reader.not_here)
    schemas[schema.SpeechFile.__name__] = {"type": "string", "format": "binary"}
