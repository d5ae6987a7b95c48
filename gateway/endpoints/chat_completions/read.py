"""POST /chat/completions, inbound: bytes to a Call.

Validation is msgspec's, over the types of schema.py; what types cannot say is checked here.
Every refusal names the member at fault as `param`, written messages[2].content[0].text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from gateway.core import reasoning
from gateway.core.call import Call, CallFacts
from gateway.core.chat import OF_ANSWERS, REFUSAL, ChatCall, ChatRequest
from gateway.core.errors import RequestError
from gateway.core.profiles import UNIFIED, Profile
from gateway.core.request import RequestHead
from gateway.core.server_tools import WantedTool
from gateway.core.token_bounds import (
    TOKENS_PER_FILE,
    TOKENS_PER_MESSAGE,
    bound_tokens,
    least_tokens,
)
from gateway.endpoints.chat_completions import cache_marks, guided_decoding, schema, tool_files
from gateway.endpoints.chat_completions.content_parts import (
    NO_BLOCKS,
    Blocks,
    clear_contents,
    read_blocks,
    respell,
)
from gateway.endpoints.chat_completions.request_rules import check_rules
from gateway.endpoints.chat_completions.requested_steps import read_processors
from gateway.endpoints.chat_completions.response_format import read_format
from gateway.endpoints.chat_completions.schema import ChatCompletionRequest
from gateway.endpoints.plugins import read_plugins
from gateway.endpoints.reading import (
    check_unknown,
    decode,
    member_decoder,
    refuse_unsafe,
    write_alias,
)
from gateway.endpoints.rules import USUAL, Rules
from gateway.http.headers import (
    CHECKED_HEADERS,
    check_headers,
    read_episode,
    read_idempotency_key,
    requires_parameters,
)

LONG = 256 * 1024
MANY_MESSAGES = 8
# What earlier answers bring along that not every provider takes.
OF_EARLIER = (reasoning.FIELD, "reasoning", "reasoning_content", *sorted(OF_ANSWERS))
NO_FIELDS: frozenset[str] = frozenset()
BOUND_MEMBERS = frozenset({"tools", "response_format", "functions"})


def read_call(
    body: bytes, head: RequestHead, profile: Profile = UNIFIED, rules: Rules = USUAL
) -> ChatCall:
    """Return what the body asks for. Raises InvalidJson or RequestError with `param`."""
    request = decode(schema.decoder, body, schema.words_for)
    if not CHECKED_HEADERS.isdisjoint(head.fields):
        check_headers(head)
    if request.stop is not None or rules.pairs_tools:
        check_rules(request, rules)
    if not profile.is_ours:
        _check_profile(request, profile)
    raws = member_decoder.decode(body)
    fields = {name: bytes(raw) for name, raw in raws.items()} if len(body) < LONG else share(raws)
    unknown: tuple[str, ...] = ()
    # Most calls have nothing but fields whose type says everything about them.
    if not fields.keys() <= schema.SELF_EXPLANATORY:
        unknown = tuple(name for name in fields if name not in schema.KNOWN)
        _check_fields(request, fields, unknown)
    if request.user and rules.user_secret:
        fields["user"] = write_alias(request.user, rules)
    message_fields, blocks = NO_FIELDS, NO_BLOCKS
    bound_tokens = _bound_plain(request.messages)
    if bound_tokens is None:
        if tool_files.are_in(request.messages):
            return tool_files.read_moved(body, raws, lambda b: read_call(b, head, profile, rules))
        _clear_contents(request, fields)
        message_fields = _check_assistant_messages(request)
        blocks = _read_blocks(request, fields, rules)
        bound_tokens = bound_messages(request.messages) + blocks.bound_tokens
    facts = CallFacts(
        model=request.model,
        stream=profile.streams_by_default and _takes_stream(head)
        if request.stream is None
        else request.stream,
        user=request.user or "",
        episode_id=read_episode(head, request.episode_id),
        idempotency_key=read_idempotency_key(head),
        requires_parameters=requires_parameters(head),
        body=body,
        fallback_names=request.models,
    )
    payload = ChatRequest(
        fields=fields,
        unknown=unknown,
        needs=blocks.needs,
        message_fields=message_fields | cache_marks.marks_in(body, fields),
        n=request.n or 1,
        messages=request.messages,
        include_usage=request.stream_options.include_usage if request.stream_options else None,
        max_tokens=request.max_tokens
        if request.max_completion_tokens is None
        else _smaller(request.max_completion_tokens, request.max_tokens),
        prompt_tokens_bound=bound_tokens + bound_fields(fields),
        files=blocks.files,
        media_urls=blocks.media_urls,
        pictures=blocks.pictures,
        processors=read_processors(request.inferada) if request.inferada is not None else (),
        server_tools=_read_plugins(request) if request.plugins else (),
    )
    return Call(facts, payload)


def _read_blocks(request: ChatCompletionRequest, fields: dict[str, bytes], rules: Rules) -> Blocks:
    """Return what the parts of the messages come to, which have the normal form then."""
    blocks = read_blocks(request.messages, rules)
    if blocks.respelled:
        fields["messages"] = respell(fields["messages"], blocks)
    return blocks


def _read_plugins(request: ChatCompletionRequest) -> tuple[WantedTool, ...]:
    events, n = bool(request.hi_tool_events), request.n or 1
    return read_plugins(request.plugins, shows_events=events, n=n)


def share(raws: dict[str, msgspec.Raw]) -> dict[str, bytes]:
    """Return the fields of a long body: its messages as a part of it, not as a copy of most."""
    fields: dict[str, Any] = {
        name: memoryview(raw) if name == "messages" else bytes(raw) for name, raw in raws.items()
    }
    return fields


def _smaller(one: int, other: int | None) -> int:
    return one if other is None else min(one, other)


def _check_fields(
    request: ChatCompletionRequest, fields: dict[str, bytes], unknown: tuple[str, ...]
) -> None:
    """Check what types cannot say, and say in the usual way what has an older one.

    Raises RequestError, UnsupportedParameter, PluginUnavailable, UnknownProcessor.
    """
    refuse_unsafe(unknown, schema.KNOWN)
    _check_meaning(request)
    _check_guided(request, fields)
    if request.tool_choice == "any":
        fields["tool_choice"] = b'"required"'
    if isinstance(request.response_format, schema.ResponseJsonSchema):
        raw = fields["response_format"]
        fields["response_format"] = read_format(request.response_format, raw)
    check_unknown(unknown, denies=bool(request.deny_unknown_fields))


def _check_profile(request: ChatCompletionRequest, profile: Profile) -> None:
    """Refuse what the product whose profile it is does not take."""
    if request.n is not None and request.n > 1 and not profile.allows_many_choices:
        raise RequestError("n must be 1.", param="n")
    effort = request.reasoning_effort
    if effort is not None and profile.efforts and effort not in profile.efforts:
        raise RequestError(
            f"reasoning_effort must be one of {', '.join(profile.efforts)}.",
            param="reasoning_effort",
        )


def _takes_stream(head: RequestHead) -> bool:
    """True when a call that does not say may get a stream: never an official SDK's, which would
    hand it to its user as a string, nor one that accepts nothing but JSON (C-01)."""
    if head.first(b"x-stainless-lang"):
        return False
    accept = head.first(b"accept").lower()
    return b"application/json" not in accept or b"text/event-stream" in accept


def least_prompt_tokens(call: ChatCall) -> int:
    """Return how many tokens the texts of the prompt are at least, whatever tokenizer counts."""
    messages = call.payload.messages
    return sum(least_tokens(text) for message in messages for text in texts_of(message))


def _check_meaning(request: ChatCompletionRequest) -> None:
    if request.top_logprobs is not None and not request.logprobs:
        raise RequestError("top_logprobs requires logprobs: true.", param="top_logprobs")
    _check_tools(request)


def _check_guided(request: ChatCompletionRequest, fields: Mapping[str, bytes]) -> None:
    raw = {name: fields[name] for name in schema.VLLM.intersection(fields)}
    if not raw:
        return
    wants_format = not isinstance(request.response_format, schema.ResponseText | None)
    guided_decoding.check(raw, wants_format=wants_format)
    guided_decoding.check_objects(raw)


def _check_tools(request: ChatCompletionRequest) -> None:
    names = [_name_of(tool) for tool in request.tools or ()]
    for index, name in enumerate(names):
        if name in names[:index]:
            raise RequestError(
                f"Two tools are named {name[1]}.", param=f"tools[{index}].{name[0]}.name"
            )
    choice = request.tool_choice
    if isinstance(choice, schema.NamedTool | schema.NamedCustomTool):
        wanted = _name_of(choice)
        if wanted not in names:
            raise RequestError(
                f"tool_choice names {wanted[1]}, which is not in tools.",
                param=f"tool_choice.{wanted[0]}.name",
            )
    if choice in ("required", "any") and not names:
        raise RequestError(f"tool_choice is {choice}, but tools is empty.", param="tool_choice")


def _name_of(tool: schema.Tool | schema.NamedTool | schema.NamedCustomTool) -> tuple[str, str]:
    """Return the kind and the name of a tool, or of a choice of one."""
    if isinstance(tool, schema.CustomTool | schema.NamedCustomTool):
        return "custom", tool.custom.name
    return "function", tool.function.name


def _clear_contents(request: ChatCompletionRequest, fields: dict[str, bytes]) -> None:
    """Make empty lists of contents null, as providers take it where a message has none."""
    rows = []
    for row, message in enumerate(request.messages):
        if isinstance(message, schema.AssistantMessage) and message.content == []:
            message.content = None
            rows.append(row)
    if rows:
        fields["messages"] = clear_contents(fields["messages"], rows)


def _check_assistant_messages(request: ChatCompletionRequest) -> frozenset[str]:
    """Return the names of fields in the messages that not every provider takes."""
    found: set[str] = set()
    for index, message in enumerate(request.messages):
        if not isinstance(message, schema.AssistantMessage):
            continue
        found.update([name for name in OF_EARLIER if getattr(message, name) is not None])
        if message.refusal or _has_refusal(message.content):
            found.add(REFUSAL)
        if message.content is None:
            others = (message.tool_calls, message.function_call, message.refusal, message.audio)
            if not any(others):
                raise RequestError(
                    "An assistant message must have content or tool_calls.",
                    param=f"messages[{index}].content",
                )
    return frozenset(found)


def _has_refusal(content: object) -> bool:
    return isinstance(content, list) and any(isinstance(x, schema.RefusalPart) for x in content)


def _bound_plain(messages: Sequence[schema.Message]) -> int | None:
    """Return the bound of a prompt in which every message is nothing but text, else None."""
    tokens = TOKENS_PER_MESSAGE * len(messages)
    for message in messages:
        content = message.content
        if not isinstance(content, str) or isinstance(message, schema.AssistantMessage):
            return None
        tokens += bound_tokens(content)
    if len(messages) > MANY_MESSAGES:
        return bound_together(messages)
    return tokens


def bound_together(messages: Sequence[schema.Message]) -> int:
    """Return the bound of all texts of a prompt, as of one where they are many: short texts are
    bounded loosely, which adds up."""
    texts = [text for message in messages for text in texts_of(message)]
    whole = ["\n".join(texts)] if len(texts) > MANY_MESSAGES else texts
    return TOKENS_PER_MESSAGE * len(messages) + sum(map(bound_tokens, whole))


def bound_messages(messages: Sequence[schema.Message]) -> int:
    tokens = bound_together(messages)
    for message in messages:
        if isinstance(message, schema.UserMessage) and not isinstance(message.content, str):
            tokens += sum(map(_bound_part, message.content))
        elif isinstance(message, schema.AssistantMessage):
            tokens += sum(map(_bound_part, message.reasoning_details or ()))
    return tokens


def bound_fields(fields: Mapping[str, bytes]) -> int:
    """Return the bound of what providers add to the prompt: tools, and the schema of an answer."""
    if BOUND_MEMBERS.isdisjoint(fields):
        return 0
    return sum(bound_tokens(fields[name].decode()) for name in BOUND_MEMBERS & fields.keys())


def _bound_part(part: object) -> int:
    """Return the bound of a part that has no text."""
    if isinstance(part, reasoning.ReasoningEncrypted):
        return bound_tokens(part.data)
    return TOKENS_PER_FILE if isinstance(part, schema.AudioPart) else 0


def texts_of(message: schema.Message) -> Iterator[str]:
    """Yield every text of a message."""
    content = message.content
    if isinstance(content, str):
        yield content
    elif content is not None:
        for part in content:
            if isinstance(part, schema.TextPart | schema.PlainTextPart):
                yield part.text
            elif isinstance(part, schema.RefusalPart):
                yield part.refusal
    if isinstance(message, schema.AssistantMessage):
        yield from _texts_of_assistant(message)


def _texts_of_assistant(message: schema.AssistantMessage) -> Iterator[str]:
    yield from reasoning.texts_in(
        message.reasoning_details, message.reasoning, message.reasoning_content
    )
    if message.refusal:
        yield message.refusal
    for call in message.tool_calls or ():
        if isinstance(call, schema.CustomToolCall):
            yield call.custom.name
            yield call.custom.input
        else:
            yield call.function.name
            yield call.function.arguments
