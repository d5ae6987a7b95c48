"""POST /responses, inbound: bytes to a Call.

The request is put as a chat completion and read as one, so that everything is checked, bounded
and loaded as there; what is refused is named by its place in this format.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import msgspec
from msgspec import Raw, structs

from gateway.core.call import (
    Call,
    CallFacts,
    Earlier,
    History,
    NativeBody,
    NativeOnly,
    rename_fields,
)
from gateway.core.chat import ChatCall
from gateway.core.errors import GatewayError, RequestError, UnsupportedParameter
from gateway.core.json_types import JsonObject
from gateway.core.profiles import Profile
from gateway.core.request import RequestHead
from gateway.core.server_tools import WantedTool
from gateway.endpoints.chat_completions import guided_decoding
from gateway.endpoints.chat_completions import read as chat
from gateway.endpoints.reading import decode, member_decoder, refuse_look_alikes
from gateway.endpoints.responses import schema
from gateway.endpoints.responses.items import ConversationReader, in_place, is_reference
from gateway.endpoints.responses.payload import ResponsesPayload, Settings, rename
from gateway.endpoints.responses.server_tools import (
    WEB_SEARCH,
    is_idle,
    is_server_tool,
    left_out,
    name_of_type,
    read_server_tools,
)
from gateway.endpoints.responses.tools import choose_tools, read_choice, read_tools, write_tools
from gateway.endpoints.rules import Rules

# As gateway.providers.catalogue names the format.
DIALECT = "openai_responses"
LOGPROBS = "message.output_text.logprobs"
# What of `include` models of all providers are asked for, or answer anyway.
SERVED = frozenset({LOGPROBS, "reasoning.encrypted_content"})
# Members that a chat completion has under the same name, and those that stay here.
SAME = (
    *("stream", "temperature", "top_p", "parallel_tool_calls", "top_logprobs", "user"),
    *("safety_identifier", "prompt_cache_key", "prompt_cache_retention", "service_tier"),
    *("inferada", "models", "tensorzero::episode_id", "tensorzero::deny_unknown_fields"),
)
UNAVAILABLE = {
    "background": "Responses are made while the caller waits. Leave background out.",
    "conversation": "Conversations are not stored. Send previous_response_id or all items.",
    "prompt": "Stored prompts are not available. Send instructions and input.",
    "context_management": "The context is not shortened. Leave context_management out.",
    "moderation": "Moderation is an endpoint of its own. Leave moderation out.",
}
_decoder = msgspec.json.Decoder(schema.ResponsesRequest)
_encode = msgspec.json.encode


def read_call(
    body: bytes,
    head: RequestHead,
    profile: Profile,
    rules: Rules,
    history: History | None = None,
) -> ChatCall:
    """Return what the body asks for. Raises InvalidJson or RequestError with `param`.

    history: what was stored of what the body refers to; None where that was not looked up. A call
    that refers to anything then has to be read on.
    """
    request = decode(_decoder, body, schema.words_for)
    raws = member_decoder.decode(body)
    _check(request, raws)
    if history is None and (earlier := _find_earlier(request)):
        read_on = partial(read_call, body, head, profile, rules)
        answer_id, items = earlier
        found = Earlier(answer_id=answer_id, items=items, read_on=read_on)
        return _begin(request, body, found)
    conversation = _read_conversation(request, history or History())
    if not conversation.messages:
        raise RequestError("input is required.", param="input")
    places = tuple(conversation.places)
    server_tools = read_server_tools(request)
    offered, chosen = choose_tools(
        read_tools(request.tools or ()), read_choice(request.tool_choice)
    )
    tool_places = tuple(offered)
    has_tools = any(one.is_enabled for one in server_tools)
    said = _write_chat(request, raws, conversation.messages)
    said |= write_tools(offered.values(), chosen)
    # A choice among tools that the gateway has still to add.
    choice = said.pop("tool_choice", None) if _is_of_gateway(said, request, server_tools) else None
    try:
        call = chat.read_call(_encode(said), head, profile, rules)
    except GatewayError as error:
        rename_fields(error, lambda name: rename(name, places, tool_places))
        raise
    shared = structs.asdict(call.payload)
    shared["server_tools"] = server_tools
    shared["max_tool_runs"] = request.max_tool_calls
    if choice is not None:
        shared["fields"] = {**call.payload.fields, "tool_choice": _encode(choice)}
    is_guided = not guided_decoding.NAMES.isdisjoint(raws)
    if not (call.payload.processors or has_tools or conversation.has_images or is_guided):
        shared["native"] = _keep(raws, call, request, history)
    shared["native_only"] = _find_native_only(request, is_native=shared["native"] is not None)
    payload = ResponsesPayload(
        **shared, settings=_repeat(request), places=places, tool_places=tool_places
    )
    return Call(structs.replace(call.facts, body=body), payload)


def _find_native_only(request: schema.ResponsesRequest, *, is_native: bool) -> NativeOnly | None:
    """Return what only a provider of this format gets, and what none does. is_native: such a one
    gets the request as it came in."""
    lost = ((WEB_SEARCH,) if any(map(is_idle, request.tools or ())) else ()) + left_out(request)
    native = ("truncation",) if request.truncation == "auto" else ()
    if not SERVED.issuperset(request.include or ()):
        native, lost = (*native, "include"), lost if is_native else (*lost, "include")
    return NativeOnly(dialect=DIALECT, fields=native, left_out=lost) if native or lost else None


def _is_of_gateway(
    said: JsonObject, request: schema.ResponsesRequest, server_tools: tuple[WantedTool, ...]
) -> bool:
    """True where tool_choice is about tools of the gateway, of which one has to be there."""
    choice = request.tool_choice
    if isinstance(choice, dict) and is_server_tool(choice):
        wanted = name_of_type(choice["type"])
        if not any(tool.id == wanted for tool in server_tools):
            raise RequestError(
                f"tool_choice names {choice['type']}, which is not in tools.",
                param="tool_choice.type",
            )
        return True
    return any(one.is_enabled for one in server_tools) and "tools" not in said


def _keep(
    raws: dict[str, Raw],
    call: ChatCall,
    request: schema.ResponsesRequest,
    history: History | None,
) -> NativeBody:
    """Return the request for a provider of this format, with what it refers to in place."""
    fields = {name: bytes(raw) for name, raw in raws.items() if name != "previous_response_id"}
    if "user" in call.payload.fields:
        fields["user"] = call.payload.fields["user"]
    if any(map(is_idle, request.tools or ())):
        fields["tools"] = _encode([tool for tool in request.tools or () if not is_idle(tool)])
    if history is not None:
        fields["input"] = _encode(list(_all_items(request, history)))
    return NativeBody(dialect=DIALECT, fields=fields)


def _all_items(request: schema.ResponsesRequest, history: History) -> Iterator[JsonObject]:
    given = [turn.request.get("input") for turn in history.turns]
    said = [turn.response.get("output") for turn in history.turns]
    for items in (
        *(each for turn in zip(given, said, strict=True) for each in turn),
        request.input,
    ):
        for _, item in in_place("", items):
            yield history.items[item["id"]] if is_reference(item) else item


def _check(request: schema.ResponsesRequest, raws: dict[str, Raw]) -> None:
    for name, here in schema.ELSEWHERE.items():
        if name in raws:
            raise RequestError(f"{name} is of another endpoint. Send {here}.", param=name)
    if schema.ANSWERS in raws:
        message = f"{schema.ANSWERS} is of another endpoint. A response has one answer."
        raise RequestError(message, param=schema.ANSWERS)
    # Names that choose a provider's URL are refused with the chat request.
    refuse_look_alikes([name for name in raws if name not in schema.KNOWN], schema.KNOWN)
    for name, reason in UNAVAILABLE.items():
        if getattr(request, name):
            raise UnsupportedParameter(reason, param=name)


def _find_earlier(request: schema.ResponsesRequest) -> tuple[str, dict[str, str]] | None:
    """Return the stored response and items that the request refers to; None where it has all."""
    given = request.input if isinstance(request.input, list) else ()
    items = {item["id"]: f"input[{n}].id" for n, item in enumerate(given) if is_reference(item)}
    answer_id = request.previous_response_id or ""
    return (answer_id, items) if answer_id or items else None


def _begin(request: schema.ResponsesRequest, body: bytes, earlier: Earlier) -> ChatCall:
    """Return a call that has to be read on."""
    facts = CallFacts(
        model=request.model,
        stream=bool(request.stream),
        user="",
        episode_id="",
        idempotency_key="",
        requires_parameters=False,
        body=body,
    )
    payload = ResponsesPayload(
        fields={}, messages=(), settings=_repeat(request), places=(), earlier=earlier
    )
    return Call(facts, payload)


def _read_conversation(request: schema.ResponsesRequest, history: History) -> ConversationReader:
    """Return the messages: instructions are those of this request alone."""
    conversation = ConversationReader(history.items)
    if request.instructions:
        conversation.say("system", request.instructions, "instructions")
    for turn in history.turns:
        given, output = turn.request.get("input"), turn.response.get("output")
        conversation.read(in_place("previous_response_id", given))
        conversation.read(in_place("previous_response_id", output))
    if isinstance(request.input, str):
        conversation.say("user", request.input, "input")
    else:
        conversation.read((f"input[{n}]", item) for n, item in enumerate(request.input or ()))
    conversation.finish()
    return conversation


def _write_chat(
    request: schema.ResponsesRequest, raws: dict[str, Raw], messages: list[JsonObject]
) -> JsonObject:
    """Return the body of the chat completion but for its tools. Unknown members go with it."""
    said: JsonObject = {"model": request.model, "messages": messages}
    said |= {name: raws[name] for name in SAME if name in raws}
    said |= {name: raw for name, raw in raws.items() if name not in schema.KNOWN}
    if request.max_output_tokens is not None:
        said["max_completion_tokens"] = request.max_output_tokens
    if request.reasoning is not None and request.reasoning.effort is not None:
        said["reasoning_effort"] = request.reasoning.effort
    if request.text is not None:
        said |= _write_text(request.text)
    if request.top_logprobs or LOGPROBS in (request.include or ()):
        said["logprobs"] = True
    elif "top_logprobs" in said:
        del said["top_logprobs"]
    return said


def _write_text(text: schema.TextOptions) -> JsonObject:
    said: JsonObject = {}
    if text.verbosity is not None:
        said["verbosity"] = text.verbosity
    form = text.format
    if isinstance(form, schema.JsonObjectFormat):
        said["response_format"] = {"type": "json_object"}
    elif isinstance(form, schema.JsonSchemaFormat):
        given = structs.asdict(form)
        given = {name: value for name, value in given.items() if value is not None}
        said["response_format"] = {"type": "json_schema", "json_schema": given}
    return said


def _repeat(request: schema.ResponsesRequest) -> Settings:
    """Return what the response says of its request."""
    reasoning, text = request.reasoning, request.text
    form: object = {"type": "text"}
    if text is not None and text.format is not None:
        form = msgspec.to_builtins(text.format)
    verbosity = None if text is None else text.verbosity
    return Settings(
        instructions=request.instructions,
        max_output_tokens=request.max_output_tokens,
        max_tool_calls=request.max_tool_calls,
        metadata=request.metadata or {},
        parallel_tool_calls=request.parallel_tool_calls is not False,
        previous_response_id=request.previous_response_id,
        prompt_cache_key=request.prompt_cache_key,
        reasoning={
            "effort": None if reasoning is None else reasoning.effort,
            "summary": None if reasoning is None else reasoning.summary,
        },
        safety_identifier=request.safety_identifier,
        service_tier=request.service_tier,
        store=request.store is not False,
        temperature=request.temperature,
        text={"format": form} | ({"verbosity": verbosity} if verbosity else {}),
        tool_choice=request.tool_choice or "auto",
        tools=[_repeat_tool(tool) for tool in request.tools or ()],
        top_logprobs=request.top_logprobs,
        top_p=request.top_p,
        truncation=request.truncation or "disabled",
        user=request.user,
    )


def _repeat_tool(tool: JsonObject) -> JsonObject:
    """Return a tool with the members that are always there in a response."""
    if tool["type"] != "function":
        return tool
    return {"description": None, "parameters": None, "strict": None} | tool
