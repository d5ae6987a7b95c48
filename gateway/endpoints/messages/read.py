"""POST /messages, inbound: Anthropic's bytes to a Call.

The fields of the call are in OpenAI's spelling, which every dialect is written from. Beside them
stands the caller's own body, for providers of Anthropic's dialect. Every refusal names the member
at fault as Anthropic does: messages.2.content.0.text.
"""

from __future__ import annotations

import re
from typing import TypeVar

import msgspec

from gateway.core.call import Call, CallFacts, NativeBody, NativeOnly
from gateway.core.chat import ChatCall
from gateway.core.errors import GatewayError, PluginUnavailable, RequestError, UnsupportedParameter
from gateway.core.files import Attachment
from gateway.core.request import RequestHead
from gateway.core.server_tools import WantedTool
from gateway.endpoints.chat_completions import guided_decoding
from gateway.endpoints.chat_completions import schema as openai
from gateway.endpoints.chat_completions.content_parts import Blocks, read_blocks, respell
from gateway.endpoints.chat_completions.read import bound_fields, bound_messages, share
from gateway.endpoints.chat_completions.requested_steps import read_processors
from gateway.endpoints.messages import schema
from gateway.endpoints.messages.conversation import Conversation
from gateway.endpoints.messages.options import (
    effort_of,
    effort_path,
    format_path,
    write_format,
    write_native,
)
from gateway.endpoints.messages.payload import MessagesPayload
from gateway.endpoints.messages.tools import (
    TOKENS_OF_ITS_OWN,
    marks_of,
    native_tool,
    write_choice,
    write_tools,
)
from gateway.endpoints.plugins import read_plugins
from gateway.endpoints.reading import (
    check_unknown,
    explain,
    member_decoder,
    refuse_unsafe,
    write_alias,
)
from gateway.endpoints.rules import USUAL, Rules
from gateway.http import strict_json
from gateway.http.headers import (
    check_headers,
    read_episode,
    read_idempotency_key,
    requires_parameters,
)

DIALECT = "anthropic"
LONG = 256 * 1024
BETA = b"anthropic-beta"
_BETAS = re.compile(r"[A-Za-z0-9_.-]{1,64}")
# Other credentials, and other prices than those that are set for the model.
_NOT_PASSED_ON = ("oauth-", "context-1m-", "fast-mode-")
# Edits that only take something out of the prompt. Others bring blocks that nothing here reads.
_CLEARS = re.compile(r"clear_[a-z_]+_\d{8}")
_PLACE = re.compile(r"\[(\d+)\]")
_NULL = b"null"
_EMPTY = re.compile(rb"\[\s*\]")
# What nobody misses.
_AS_USUAL = {"speed": (b'"standard"',)}
T = TypeVar("T")
_read_tools = msgspec.json.Decoder(list[dict[str, msgspec.Raw]]).decode
_to_messages = msgspec.json.Decoder(list[openai.Message]).decode
_encode = msgspec.json.encode


def read_call(body: bytes, head: RequestHead, rules: Rules = USUAL) -> ChatCall:
    """Return what the body asks for. Raises InvalidJson or RequestError with `param`."""
    strict_json.check(body)
    return make_call(decode(schema.decoder, body), body, head, rules)


def decode(decoder: msgspec.json.Decoder[T], body: bytes) -> T:
    """Return the body as its type. Raises RequestError in Anthropic's spelling of paths."""
    try:
        return decoder.decode(body)
    except msgspec.ValidationError as error:
        refusal = explain(error, schema.words_for, decoder.type, body)
        raise RequestError(
            _PLACE.sub(r".\1", refusal.message),
            param=_PLACE.sub(r".\1", refusal.param or "") or None,
        ) from None


def make_call(
    request: schema.MessagesRequest, body: bytes, head: RequestHead, rules: Rules
) -> ChatCall:
    """Return the call of a request that its types have been checked of."""
    check_headers(head)
    raws = member_decoder.decode(body)
    given = {name: bytes(raw) for name, raw in raws.items()} if len(body) < LONG else share(raws)
    given = {name: raw for name, raw in given.items() if not _is_absent(name, raw)}
    unknown = tuple(name for name in given if name not in schema.KNOWN)
    _check_fields(request, given, unknown, rules)
    left_out = _leave_out(given)
    conversation = Conversation(request)
    fields = _write_fields(request, given, rules)
    if conversation.is_foreign:
        # It asks for thoughts that Anthropic has signed; an effort does not.
        fields.pop("thinking", None)
    messages, blocks = _read_messages(conversation, fields)
    tool = native_tool(request.tools or ())
    bound_tokens = bound_messages(messages) + blocks.bound_tokens + bound_fields(fields)
    bound_tokens += conversation.hidden_tokens
    facts = CallFacts(
        model=request.model,
        stream=bool(request.stream),
        user=_user_of(request) or "",
        episode_id=read_episode(head, request.episode_id),
        idempotency_key=read_idempotency_key(head),
        requires_parameters=requires_parameters(head),
        body=body,
        fallback_names=request.models,
    )
    payload = MessagesPayload(
        fields=fields,
        native=NativeBody(dialect=DIALECT, fields=write_native(given), headers=_headers(head))
        if conversation.is_native and schema.GUIDED.isdisjoint(given)
        else None,
        native_only=NativeOnly(
            dialect=DIALECT,
            fields=_only_native(given, unknown, conversation.hidden),
            part=tool,
            left_out=tuple(sorted(left_out | conversation.lost)),
        ),
        unknown=unknown,
        message_fields=frozenset(conversation.fields) | marks_of(request.tools or ()),
        needs=blocks.needs,
        messages=messages,
        max_tokens=request.max_tokens,
        prompt_tokens_bound=bound_tokens + (0 if tool is None else TOKENS_OF_ITS_OWN),
        files=blocks.files,
        media_urls=blocks.media_urls,
        pictures=blocks.pictures,
        processors=read_processors(request.inferada) if request.inferada is not None else (),
        server_tools=_read_plugins(request) if request.plugins else (),
        paths=conversation.paths,
        effort_path=effort_path(request),
        format_path=format_path(request),
    )
    return Call(facts, payload)


def _is_absent(name: str, raw: bytes) -> bool:
    """True for null, and for a list of no MCP servers, which asks for nothing."""
    return raw == _NULL or (name == schema.MCP_SERVERS and _EMPTY.fullmatch(raw) is not None)


def _check_fields(
    request: schema.MessagesRequest,
    given: dict[str, bytes],
    unknown: tuple[str, ...],
    rules: Rules,
) -> None:
    """Check what types cannot say. Raises RequestError, UnsupportedParameter."""
    for name in sorted(schema.REFUSED.intersection(given)):
        details = schema.DETAILS_OF_REFUSAL.get(name)
        raise UnsupportedParameter(f"{name} is not supported.", param=name, details=details)
    guided = {name: given[name] for name in schema.GUIDED.intersection(given)}
    if guided:
        guided_decoding.check(guided, wants_format=write_format(request) is not None)
    refuse_unsafe(unknown, schema.KNOWN)
    check_unknown(unknown, denies=bool(request.deny_unknown_fields))
    if len(request.stop_sequences or ()) > rules.stop_sequences:
        raise RequestError(
            f"stop_sequences can have at most {rules.stop_sequences} sequences.",
            param="stop_sequences",
        )
    thinking = request.thinking
    if isinstance(thinking, schema.ThinkEnabled) and thinking.budget_tokens >= request.max_tokens:
        raise RequestError(
            "max_tokens must be greater than thinking.budget_tokens.", param="max_tokens"
        )


def _read_plugins(request: schema.MessagesRequest) -> tuple[WantedTool, ...]:
    """Raises RequestError, and PluginUnavailable for the one whose results have no place here."""
    try:
        found = read_plugins(request.plugins, shows_events=bool(request.hi_tool_events))
        for one in found:
            if one.id == "image":
                message = "Messages cannot contain images. Use chat completions."
                raise PluginUnavailable(message, param=f"{one.param}.id")
    except RequestError as error:
        error.param = _PLACE.sub(r".\1", error.param or "") or None
        raise
    return found


def _user_of(request: schema.MessagesRequest) -> str | None:
    return request.metadata.user_id if request.metadata is not None else None


def _write_fields(
    request: schema.MessagesRequest, given: dict[str, bytes], rules: Rules
) -> dict[str, bytes]:
    """Return the request's fields in OpenAI's spelling, all but the messages, and those that only
    providers of the same dialect take."""
    fields = {"model": given["model"], "messages": _NULL, "max_tokens": b"%d" % request.max_tokens}
    for name in ("stream", "temperature", "top_p", "top_k", *_OURS):
        if name in given:
            fields[name] = given[name]
    if request.stop_sequences:
        fields["stop"] = given["stop_sequences"]
    if user := _user_of(request):
        if rules.user_secret:
            fields["user"] = write_alias(user, rules)
            given["metadata"] = b'{"user_id":' + fields["user"] + b"}"
        else:
            fields["user"] = _encode(user)
    _write_tools(request, fields)
    if (wanted := write_format(request)) is not None:
        fields["response_format"] = wanted
    if (effort := effort_of(request)) is not None:
        fields["reasoning_effort"] = _encode(effort)
    if request.service_tier == "standard_only":
        fields["service_tier"] = b'"default"'
    others = (given.keys() - schema.READ) | (schema.FOR_ANTHROPIC & given.keys())
    return fields | {name: given[name] for name in given if name in others}


_OURS = ("models", "inferada", "tensorzero::episode_id", "tensorzero::deny_unknown_fields")


def _write_tools(request: schema.MessagesRequest, fields: dict[str, bytes]) -> None:
    tools = request.tools or ()
    if written := write_tools(tools):
        fields["tools"] = _encode(written)
    choice, parallel = write_choice(request, frozenset(tool.name or "" for tool in tools))
    if choice is not None:
        fields["tool_choice"] = _encode(choice)
    if parallel is not None:
        fields["parallel_tool_calls"] = _encode(parallel)


def _read_messages(
    conversation: Conversation, fields: dict[str, bytes]
) -> tuple[list[openai.Message], Blocks]:
    """Return the messages as the type that all steps know, and what their blocks come to; their
    bytes go to the fields. Raises RequestError with the path in the request."""
    raw = _encode(conversation.messages)
    messages = _to_messages(raw)
    try:
        blocks = read_blocks(messages)
    except GatewayError as error:
        error.param = conversation.path_of(error.param)
        raise
    fields["messages"] = respell(raw, blocks) if blocks.respelled else raw
    files = tuple(_at(file, conversation) for file in blocks.files)
    urls = tuple((conversation.path_of(path) or "", url) for path, url in blocks.media_urls)
    return messages, msgspec.structs.replace(blocks, files=files, media_urls=urls)


def _at(file: Attachment, conversation: Conversation) -> Attachment:
    return msgspec.structs.replace(file, param=conversation.path_of(file.param) or "")


def _headers(head: RequestHead) -> dict[str, str]:
    """Return the headers of the caller's that go along with its own body: the features that it asks
    for, but for those that are about other credentials or prices."""
    betas = [
        beta
        for value in head.values(BETA)
        for beta in (one.strip() for one in value.decode("latin-1").split(","))
        if _BETAS.fullmatch(beta) and not beta.startswith(_NOT_PASSED_ON)
    ]
    return {BETA.decode(): ",".join(dict.fromkeys(betas))} if betas else {}


def _leave_out(given: dict[str, bytes]) -> set[str]:
    """Take out the fields that no provider gets. Return the names of those that are missed."""
    names = schema.LEFT_OUT & given.keys()
    if "context_management" in given and not _only_clears(given["context_management"]):
        names |= {"context_management"}
    return {name for name in names if given.pop(name) not in _AS_USUAL.get(name, ())}


def _only_clears(raw: bytes) -> bool:
    try:
        given = msgspec.json.decode(raw, type=_ContextManagement)
    except msgspec.ValidationError:
        return False
    return all(_CLEARS.fullmatch(edit.type) for edit in given.edits)


class _Edit(msgspec.Struct):
    type: str


class _ContextManagement(msgspec.Struct):
    edits: list[_Edit] = []


def _only_native(
    given: dict[str, bytes], unknown: tuple[str, ...], hidden: set[str]
) -> tuple[str, ...]:
    """Return the names of what providers of other dialects do not get."""
    names = hidden | set(unknown) | (schema.FOR_ANTHROPIC & given.keys())
    if "tools" in given:
        for tool in _read_tools(given["tools"]):
            names |= {name for name in schema.OF_TOOLS & tool.keys() if _says(tool[name])}
    return tuple(sorted(names))


def _says(raw: msgspec.Raw) -> bool:
    return bytes(raw) not in (b"null", b"false", b"[]")
