"""Gives a call the tools that its plugins stand for, as its model can be told of them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import msgspec

from gateway.core.call import AnyCall
from gateway.core.chat import ChatCall, ChatRequest
from gateway.core.errors import GatewayError, RequestError, UnsupportedParameter
from gateway.core.server_tools import CallTool
from gateway.core.token_bounds import bound_tokens
from gateway.egress.egress import requester_of
from gateway.endpoints.chat_completions.system_prompt import lead
from gateway.processors.registry import PROCESSORS
from gateway.providers.parameters import check_parameters
from gateway.snapshot.caller import Caller
from gateway.snapshot.types import KeyRecord, ModelRecord
from gateway.tools.bound import BoundTool
from gateway.tools.choose import DefaultTools, ToolChooser
from gateway.tools.rounds import PREFIX, define

_read_tools = msgspec.json.Decoder(list[msgspec.Raw]).decode
_encode = msgspec.json.encode


class _Events(msgspec.Struct):
    hi_tool_events: bool | None = None


_read_events = msgspec.json.Decoder(_Events).decode


class ToolPrep:
    """For all calls of a process."""

    def __init__(self, chooser: ToolChooser) -> None:
        self._chooser = chooser

    async def choose_tools(
        self, caller: Caller, call: AnyCall, model: ModelRecord, request_id: str
    ) -> AnyCall:
        """Return the call with its tools, and those that its workspace has by default. Its model is
        told of them like those of its caller. A model that takes no tools is told in its system
        prompt what can be told there, and has none by default.

        Raises PluginUnavailable, RequestError, UnsupportedParameter, DatabaseUnavailable.
        """
        payload = call.payload
        if not isinstance(payload, ChatRequest):
            return call
        defaults = None
        if takes_defaults(caller.key, payload):
            shows_events = await asyncio.to_thread(tells_events, call.facts.body)
            defaults = DefaultTools(shows_events)
        tools = await self._chooser.choose(
            payload.server_tools,
            requester=requester_of(caller.key),
            call_id=request_id,
            defaults=defaults,
        )
        named = tuple(one for one in payload.server_tools if one.is_enabled)
        call = call.with_payload(server_tools=named)
        if not tools:
            return call
        if any(tool.tool.turns_pdfs_to_text for tool in tools):
            call = call.with_payload(wants_pdf_text=True)
        with_tools = await asyncio.to_thread(define_tools, call, tools)
        if takes_tools(with_tools, model):
            return with_tools
        names = {one.id for one in named}
        tools = [tool for tool in tools if tool.plugin in names]
        return tell_instead(call, tools, model) if tools else call


def takes_defaults(key: KeyRecord, payload: ChatRequest) -> bool:
    """True for a call that has the tools that its workspace has by default."""
    if not key.has_default_tools or payload.n > 1:
        return False
    required = key.processors.required if key.processors is not None else ()
    names = {*payload.processors, *required}.intersection(PROCESSORS)
    return not any(PROCESSORS[name].refuses_tools for name in names)


def tells_events(body: bytes) -> bool:
    """True for a request that wants to be told of all tools."""
    return b"hi_tool_events" in body and bool(_read_events(body).hi_tool_events)


def tell_instead(call: ChatCall, tools: Sequence[BoundTool], model: ModelRecord) -> ChatCall:
    """Return the call for a model that takes no tools, with what it is told instead: in its system
    prompt, and of a tool that turns attached PDFs to text, their text.

    Raises UnsupportedParameter for a tool of which it can be told nothing.
    """
    params = {one.id: one.param for one in call.payload.server_tools}
    texts = []
    for tool in tools:
        if text := tool.tool.without_tools():
            texts.append(text)
        elif not (tool.tool.turns_pdfs_to_text and call.payload.files):
            message = f"{model.name} does not support tools, as the plugin {tool.plugin} needs."
            raise UnsupportedParameter(message, param=params.get(tool.plugin, "plugins"))
    told = call.with_payload(server_tools=())
    if texts:
        told = lead(told, "\n".join(texts), None)
    if "tools" in told.payload.fields:
        return told
    # What was chosen among tools that there are not.
    fields = {name: raw for name, raw in told.payload.fields.items() if name != "tool_choice"}
    return told.with_payload(fields=fields)


def takes_tools(call: ChatCall, model: ModelRecord) -> bool:
    """True for a model whose providers all take the tools of the call."""
    if not model.can("tools"):
        return False
    try:
        return "tools" not in check_parameters(call, model)
    except GatewayError:
        # Of something else, which is refused by itself.
        return True


def define_tools(call: ChatCall, tools: list[BoundTool]) -> ChatCall:
    """Return the call with the definitions of tools after its own.

    Raises RequestError where one of its own has the name of one of the gateway's.
    """
    payload = call.payload
    own = _read_tools(payload.fields.get("tools") or b"[]")
    names = {PREFIX + tool.function for tool in tools}
    for index, raw in enumerate(own):
        name = (msgspec.json.decode(raw).get("function") or {}).get("name")
        if name in names:
            raise RequestError(
                f"{name} is the name of a tool of a plugin.", param=f"tools[{index}].function.name"
            )
    defined = [msgspec.Raw(define(tool)) for tool in tools]
    fields = {**payload.fields, "tools": _encode([*own, *defined])}
    added = sum(bound_tokens(bytes(raw).decode()) for raw in defined)
    found: tuple[CallTool, ...] = tuple(tools)
    return call.with_payload(
        fields=fields, tools=found, prompt_tokens_bound=payload.prompt_tokens_bound + added
    )
