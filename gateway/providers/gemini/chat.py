"""Chat completions over Gemini's generateContent API.

Reference: https://ai.google.dev/api/generate-content
Google AI Studio and Vertex AI speak it alike: they differ in their addresses (address.py), in how
requests are let in, and in what they want to be told of pictures that are elsewhere (content.py).
What may be asked of a model depends on its generation (generations.py).
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from gateway.core import reasoning
from gateway.core.chat import ChatCall
from gateway.core.chat_messages import read_messages
from gateway.core.errors import UnsupportedParameter
from gateway.core.events import ChatAnswer
from gateway.core.grant import Grant
from gateway.providers.base import Decoder, UpstreamRequest
from gateway.providers.catalogue import BY_NAME
from gateway.providers.chat_options import OPTIONS
from gateway.providers.gemini import answers
from gateway.providers.gemini.address import hidden_of, is_vertex, url_of
from gateway.providers.gemini.conversation import Conversation, translate
from gateway.providers.gemini.errors import read_error
from gateway.providers.gemini.generations import generation_of
from gateway.providers.gemini.guided import GUIDED, check_guided
from gateway.providers.gemini.options import Options
from gateway.providers.gemini.tools import Tools, translate_tools
from gateway.providers.openai_compatible.guided import HINTS
from gateway.providers.reasoning_wish import REASONING
from gateway.providers.secrets import secrets_of
from gateway.providers.translation import (
    UNTRANSLATABLE,
    bound_prompt,
    fields_of,
    left_out,
    refuse_fields,
)
from gateway.snapshot.types import TargetRecord

MOST_CANDIDATES = 8
# The fields that are translated. `n` is, for the generations that take it.
TRANSLATED = (
    OPTIONS
    | GUIDED
    | {
        *("model", "messages", "stream", "stream_options", "n", "max_tokens"),
        *("max_completion_tokens", "tools", "tool_choice", "parallel_tool_calls", REASONING),
    }
)
# The API's own, which go through as they are, in either spelling.
NATIVE: Mapping[str, str] = {
    "safetySettings": "safetySettings",
    "safety_settings": "safetySettings",
    "cachedContent": "cachedContent",
    "cached_content": "cachedContent",
    "thinkingConfig": "thinkingConfig",
    "thinking_config": "thinkingConfig",
}
REFUSED = UNTRANSLATABLE - GUIDED - HINTS
# Unknown to OpenAI: where a model drops what is unknown, these stay here, too.
GOES_THROUGH = NATIVE.keys() | {REASONING}
STREAM_METHOD, METHOD = "streamGenerateContent?alt=sse", "generateContent"
_encode = msgspec.json.encode


class Translation(msgspec.Struct):
    """A call in the API's words. dropped: names of what it has none for."""

    conversation: Conversation
    tools: Tools
    options: Options
    native: dict[str, object]
    dropped: set[str]


class GeminiChat:
    """Chat completions for every provider of the `gemini` dialect."""

    # Nothing is taken unseen: the API is strict, and what it takes depends on the model.
    supported: frozenset[str] = frozenset()

    def check(self, call: ChatCall, target: TargetRecord) -> set[str]:
        most = MOST_CANDIDATES if generation_of(target.native_model).takes_candidates else 1
        if call.payload.n > most:
            limits = "n = 1" if most == 1 else f"n up to {most}"
            raise UnsupportedParameter(f"{call.facts.model} only supports {limits}.", param="n")
        refuse_fields(call, REFUSED)
        check_guided(call)
        fields = fields_of(call, target)
        return _translate(fields, target, call.payload.max_tokens, call.payload.n).dropped

    def build_request(self, call: ChatCall, grant: Grant, target: TargetRecord) -> UpstreamRequest:
        stream, kind = call.facts.stream, BY_NAME[target.kind]
        headers = {
            "content-type": "application/json",
            "accept": "text/event-stream" if stream else "application/json",
            "accept-encoding": "identity",
            "user-agent": "tollhouse",
            "x-request-id": grant.identity.call_id,
            **kind.headers_with(target.secret),
        }
        fields = fields_of(call, target)
        for name in GOES_THROUGH.intersection(grant.dropped_params):
            fields.pop(name, None)
        max_tokens = grant.cap_tokens or call.payload.max_tokens
        said = _translate(fields, target, max_tokens, call.payload.n)
        return UpstreamRequest(
            url=url_of(target, STREAM_METHOD if stream else METHOD),
            headers=headers,
            body=_write(said),
            prompt_tokens=bound_prompt(call),
            hidden=hidden_of(target),
            answers=call.payload.n,
        )

    def read_answer(self, body: bytes, request: UpstreamRequest) -> ChatAnswer:
        return answers.read_answer(body)

    def open_decoder(self, request: UpstreamRequest) -> Decoder:
        return answers.GeminiDecoder(request.answers)

    read_error = staticmethod(read_error)
    secrets = staticmethod(secrets_of)


def _translate(
    fields: Mapping[str, bytes], target: TargetRecord, max_tokens: int | None, candidates: int
) -> Translation:
    """Raises RequestError, InvalidFile or UnsupportedParameter for what there are no words for."""
    generation = generation_of(target.native_model)
    conversation = translate(
        read_messages(fields["messages"]),
        wants_signatures=generation.wants_signatures,
        needs_type=is_vertex(target),
    )
    tools = translate_tools(fields)
    options = Options(fields, generation, max_tokens, candidates)
    native: dict[str, object] = {
        NATIVE[name]: msgspec.Raw(fields[name]) for name in NATIVE.keys() & fields.keys()
    }
    dropped = left_out(fields, TRANSLATED | NATIVE.keys()) | tools.dropped | options.dropped
    if conversation.drops_reasoning:
        dropped.add(reasoning.FIELD)
    return Translation(conversation, tools, options, native, dropped)


def _write(said: Translation) -> bytes:
    body: dict[str, object] = {"contents": said.conversation.turns}
    if said.conversation.system:
        body["systemInstruction"] = {"parts": [{"text": said.conversation.system}]}
    body |= said.tools.fields | said.native
    config = said.options.fields
    if "thinkingConfig" in body:
        config["thinkingConfig"] = body.pop("thinkingConfig")
    if config:
        body["generationConfig"] = config
    return _encode(body)
