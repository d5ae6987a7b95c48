"""The system prompt of a call: the model's own and the caller's, in one message (contract, 6.6).

Only models that have a prompt or render any come here; calls of all others go upstream in their
callers' own bytes. What users, assistants and tools say is never rendered.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import msgspec

from gateway.core.chat import ChatCall
from gateway.core.errors import GatewayError, Quarantined, RequestError
from gateway.core.json_types import JsonObject, JsonValue
from gateway.core.token_bounds import TOKENS_PER_MESSAGE, bound_tokens
from gateway.endpoints.chat_completions import schema
from gateway.endpoints.chat_completions.processor_options import ProcessorOptions
from gateway.prompts.renderer import PromptFailed, PromptQuarantined, Renderer
from gateway.prompts.variables import (
    HAYSTACK,
    MAX_PLACEHOLDERS,
    Filling,
    TooManyPlaceholders,
    values_at,
)
from gateway.snapshot.types import ModelRecord, PromptRecord

BETWEEN = "\n\n---\n\n"
SYSTEM = (schema.SystemMessage, schema.DeveloperMessage)
_encode = msgspec.json.encode
_read_raw = msgspec.json.Decoder(list[msgspec.Raw]).decode
_read_settings = msgspec.json.Decoder(ProcessorOptions | None).decode


class SystemPrompts:
    """Writes the system prompts of the calls of one process."""

    def __init__(self, renderer: Renderer) -> None:
        self._renderer = renderer

    async def assemble(
        self, call: ChatCall, model: ModelRecord, *, org_name: str, request_id: str
    ) -> ChatCall:
        """Return the call with its system prompt, for a model that has one or renders any.

        Raises RequestError for a caller's text that asks for too much, and GatewayError when the
        model's template fails: without its prompt the model is not what callers are offered.
        """
        prompt: PromptRecord | None = model.prompt
        assert prompt is not None
        settings = _read_settings(call.payload.fields.get("inferada", b"null"))
        haystack = read_haystack(call)
        settings = settings or ProcessorOptions()
        own = "" if settings.skip_model_default else prompt.text
        if prompt.mode == "off":
            return lead(call, own, None) if own else call
        values = values_at(
            datetime.now(UTC),
            org_name=org_name,
            model_id=model.name,
            request_id=request_id,
            language=settings.language,
        )
        try:
            if own and prompt.mode == "logic":
                own = await self._renderer.render(own, values, haystack)
            elif own:
                own = Filling(values, haystack).fill(own)
        except PromptQuarantined:
            raise Quarantined(
                "The model's prompt template failed with the same values. It is not tried again "
                "for a minute."
            ) from None
        except PromptFailed as error:
            raise GatewayError(
                "The model's prompt template could not be rendered.",
                detail=f"The prompt template of {model.name}: {error}",
            ) from None
        filling = Filling(values, haystack)
        try:
            return lead(call, own, filling) if own else fill_in_place(call, filling)
        except TooManyPlaceholders:
            raise RequestError(
                f"System messages can have at most {MAX_PLACEHOLDERS} template variables.",
                param="messages",
            ) from None


def read_haystack(call: ChatCall) -> JsonValue:
    """Return the data that the call attaches, as its processors have left it; None for none."""
    if HAYSTACK not in call.payload.processors:
        return None
    given = msgspec.json.decode(call.payload.fields["inferada"]).get(HAYSTACK)
    return given.get("data") if isinstance(given, dict) else None


def lead(call: ChatCall, own: str, filling: Filling | None) -> ChatCall:
    """Return the call with one system message, its first: `own`, then the caller's in their order.

    filling: what the caller's are rendered with, or None to leave them as they are.
    """
    parts, others, raws = [own], list[object](), list[bytes]()
    bound = call.payload.prompt_tokens_bound + TOKENS_PER_MESSAGE
    raw_messages = _read_raw(call.payload.fields["messages"])
    for message, raw in zip(call.payload.messages, raw_messages, strict=True):
        if isinstance(message, SYSTEM):
            said = text_of(message.content)
            parts.append(said if filling is None else filling.fill(said))
            bound -= TOKENS_PER_MESSAGE + bound_of(message.content)
        else:
            others.append(message)
            raws.append(bytes(raw))
    whole = BETWEEN.join(part for part in parts if part)
    first = _encode({"role": "system", "content": whole})
    messages = [schema.SystemMessage(content=whole), *others]
    return with_messages(call, messages, [first, *raws], bound + bound_tokens(whole))


def fill_in_place(call: ChatCall, filling: Filling) -> ChatCall:
    """Return the call with its system messages rendered where they stand; the call itself when
    that changes nothing."""
    messages, raws = list(call.payload.messages), list[bytes]()
    bound, has_changed = call.payload.prompt_tokens_bound, False
    for index, raw in enumerate(_read_raw(call.payload.fields["messages"])):
        message = messages[index]
        written = bytes(raw)
        if isinstance(message, SYSTEM) and "{{" in text_of(message.content):
            content = filled_content(message.content, filling)
            if content != message.content:
                has_changed = True
                bound += bound_of(content) - bound_of(message.content)
                messages[index] = type(message)(content, message.name)
                written = with_content(written, content)
        raws.append(written)
    return with_messages(call, messages, raws, bound) if has_changed else call


def filled_content(content: schema.Text, filling: Filling) -> schema.Text:
    if isinstance(content, str):
        return filling.fill(content)
    return [msgspec.structs.replace(part, text=filling.fill(part.text)) for part in content]


def with_content(raw: bytes, content: schema.Text) -> bytes:
    """Return a message with other texts, whatever else it and its blocks have kept."""
    message: JsonObject = msgspec.json.decode(raw)
    if isinstance(content, str):
        message["content"] = content
    else:
        for block, part in zip(message["content"], content, strict=True):
            block["text"] = part.text
    return _encode(message)


def with_messages(
    call: ChatCall, messages: Sequence[object], raws: Sequence[bytes], bound_tokens: int
) -> ChatCall:
    fields = {**call.payload.fields, "messages": b"[" + b",".join(raws) + b"]"}
    return call.with_payload(messages=messages, fields=fields, prompt_tokens_bound=bound_tokens)


def text_of(content: schema.Text) -> str:
    """Return the text of a message, its blocks on lines of their own."""
    return content if isinstance(content, str) else "\n".join(part.text for part in content)


def bound_of(content: schema.Text) -> int:
    if isinstance(content, str):
        return bound_tokens(content)
    return sum(bound_tokens(part.text) for part in content)
