"""Chat completions over Cohere's Chat API, version 2.

Reference: https://docs.cohere.com/v2/reference/chat
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from gateway.core.chat import ChatCall, Message
from gateway.core.chat_messages import read_messages
from gateway.core.errors import UnsupportedParameter
from gateway.core.events import ChatAnswer
from gateway.core.grant import Grant
from gateway.providers import guided_decoding
from gateway.providers.base import Decoder, UpstreamRequest
from gateway.providers.catalogue import BY_NAME
from gateway.providers.cohere import answers
from gateway.providers.cohere.messages import translate, unsaid_reasoning, without_pdfs
from gateway.providers.cohere.options import thinks, translate_options, translate_tools
from gateway.providers.offered_tools import read_offered_tools
from gateway.providers.openai_compatible.request import write_headers
from gateway.providers.secrets import secrets_of
from gateway.providers.translation import (
    bound_prompt,
    fields_of,
    left_out,
    refuse_fields,
)
from gateway.providers.upstream_errors import read_error
from gateway.snapshot.types import TargetRecord

# The fields that are translated. `n` is, as far as it is 1.
TRANSLATED = frozenset(
    {
        *("model", "messages", "stream", "stream_options", "n", "max_tokens"),
        *("max_completion_tokens", "temperature", "top_p", "top_k", "stop", "seed"),
        *("frequency_penalty", "presence_penalty", "logprobs", "top_logprobs", "tools"),
        *("tool_choice", "parallel_tool_calls", "response_format", "reasoning_effort"),
        *guided_decoding.GUIDED,
    }
)
# The API's own, which go through as they are.
NATIVE = frozenset({"citation_options", "documents", "safety_mode", "thinking"})
REFUSED = guided_decoding.REFUSED
_encode = msgspec.json.encode


class CohereChat:
    """Chat completions for every provider of the `cohere` dialect."""

    # Nothing is taken unseen: the API refuses what is beyond its bounds.
    supported: frozenset[str] = frozenset()

    def check(self, call: ChatCall, target: TargetRecord) -> set[str]:
        if call.payload.n > 1:
            raise UnsupportedParameter(f"{call.facts.model} only supports n = 1.", param="n")
        refuse_fields(call, REFUSED)
        call, lost = guided_decoding.respell(call)
        fields = fields_of(call, target)
        messages: Sequence[Message] = read_messages(fields["messages"])
        if call.payload.files:
            messages = [without_pdfs(message) for message in messages]
        _, dropped = _translate(messages, fields, target)
        return dropped | lost

    def build_request(self, call: ChatCall, grant: Grant, target: TargetRecord) -> UpstreamRequest:
        call, _ = guided_decoding.respell(call)
        fields = fields_of(call, target)
        for name in NATIVE.intersection(grant.dropped_params):
            fields.pop(name, None)
        body, _ = _translate(read_messages(fields["messages"]), fields, target)
        max_tokens = grant.cap_tokens or call.payload.max_tokens
        if max_tokens is not None:
            body["max_tokens"] = max_tokens
        if call.facts.stream:
            body["stream"] = True
        return UpstreamRequest(
            url=f"{target.base_url}{BY_NAME[target.kind].chat_path}",
            headers=write_headers(grant, target, stream=call.facts.stream),
            body=_encode(body),
            prompt_tokens=bound_prompt(call),
            wraps_choice=guided_decoding.wraps_choice(call),
        )

    def read_answer(self, body: bytes, request: UpstreamRequest) -> ChatAnswer:
        return guided_decoding.unwrap(answers.read_answer(body), request)

    def open_decoder(self, request: UpstreamRequest) -> Decoder:
        return answers.ChatDecoder()

    read_error = staticmethod(read_error)
    secrets = staticmethod(secrets_of)


def _translate(
    messages: Sequence[Message], fields: Mapping[str, bytes], target: TargetRecord
) -> tuple[dict[str, object], set[str]]:
    """Return the body of a request without its limit, and the names of what it does not say.

    Raises RequestError, InvalidFile, AudioNotSupported or UnsupportedParameter for what the API has
    no words for.
    """
    model = target.native_model
    said = translate(messages, thinks=thinks(model))
    options = translate_options(fields, model)
    tools = translate_tools(read_offered_tools(fields), options)
    native: dict[str, object] = {
        name: msgspec.Raw(fields[name]) for name in NATIVE.intersection(fields)
    }
    if said.documents and "documents" not in native:
        native["documents"] = said.documents
    body: dict[str, object] = {"model": model, "messages": said.messages}
    body |= options.fields | tools | native
    dropped = left_out(fields, TRANSLATED | NATIVE) | options.dropped
    if said.documents and "documents" in fields:
        dropped.add("messages.file")
    return body, dropped | unsaid_reasoning(messages, thinks=thinks(model))
