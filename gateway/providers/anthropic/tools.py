"""Tools, and the choice among them, from OpenAI's spelling to Anthropic's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, TypeVar

import msgspec

from gateway.core.errors import RequestError, UnsupportedParameter

T = TypeVar("T")
Fields = dict[str, object]
EMPTY_SCHEMA: Mapping[str, object] = {"type": "object", "properties": {}}


class Function(msgspec.Struct):
    """A function that is offered."""

    name: str
    description: str | None = None
    parameters: dict[str, msgspec.Raw] | None = None
    strict: bool | None = None
    cache_control: dict[str, object] | None = None


class Tool(msgspec.Struct):
    """A tool that is offered. It has been checked where it came in."""

    type: str
    function: Function | None = None
    cache_control: dict[str, object] | None = None


class Named(msgspec.Struct):
    """A tool that is meant."""

    name: str = ""


class NamedTool(msgspec.Struct):
    """The same, as a choice or in a list of those allowed."""

    function: Named = msgspec.field(default_factory=Named)


class Allowed(msgspec.Struct):
    """A choice among some of the tools."""

    mode: Literal["auto", "required"]
    tools: list[NamedTool]


class Choice(msgspec.Struct):
    """A choice that is more than a word."""

    type: str
    function: Named = msgspec.field(default_factory=Named)
    allowed_tools: Allowed | None = None


class Tools(msgspec.Struct):
    """What a call's tools come to. fields: those of the request. is_forced: the model has to call
    one. drops_strict: it is not told which tools are strict."""

    fields: Fields
    is_forced: bool = False
    drops_strict: bool = False


_read_tools = msgspec.json.Decoder(list[Tool] | None).decode
_read_choice = msgspec.json.Decoder(str | Choice | None).decode
_read_flag = msgspec.json.Decoder(bool | None).decode
_TYPE_OF = {"auto": "auto", "required": "any", "any": "any", "none": "none"}


def translate_tools(fields: Mapping[str, bytes], *, takes_strict: bool) -> Tools:
    """Return the tools of a call. Raises UnsupportedParameter for one that is no function,
    RequestError for what no endpoint has looked into and makes no sense."""
    tools = _read(_read_tools, fields, "tools") or []
    functions = [_function_of(tool, index) for index, tool in enumerate(tools)]
    choice = _read(_read_choice, fields, "tool_choice")
    if isinstance(choice, Choice) and choice.allowed_tools is not None:
        allowed = {tool.function.name for tool in choice.allowed_tools.tools}
        functions = [function for function in functions if function.name in allowed]
        choice = choice.allowed_tools.mode
    if not functions:
        return Tools({})
    written = [_write(function, takes_strict=takes_strict) for function in functions]
    is_strict = any(function.strict for function in functions)
    said = _choose(choice, _read_flag(fields.get("parallel_tool_calls", b"null")))
    return Tools(
        {"tools": written} | ({"tool_choice": said} if said else {}),
        is_forced=bool(said) and said["type"] in ("any", "tool"),
        drops_strict=is_strict and not takes_strict,
    )


def _read(decode: Callable[[bytes], T], fields: Mapping[str, bytes], name: str) -> T:
    try:
        return decode(fields.get(name, b"null"))
    except msgspec.ValidationError as error:
        raise RequestError(
            f"This model does not support these {name}: {error}.", param=name
        ) from None


def _function_of(tool: Tool, index: int) -> Function:
    if tool.function is None:
        raise UnsupportedParameter(
            "This model does not support custom tools.", param=f"tools[{index}]"
        )
    tool.function.cache_control = tool.function.cache_control or tool.cache_control
    return tool.function


def _write(function: Function, *, takes_strict: bool) -> Fields:
    said: Fields = {"name": function.name}
    if function.description:
        said["description"] = function.description
    schema = function.parameters
    said["input_schema"] = EMPTY_SCHEMA if not schema else {"type": "object", **schema}
    if function.strict and takes_strict:
        said["strict"] = True
    if function.cache_control is not None:
        said["cache_control"] = function.cache_control
    return said


def _choose(choice: str | Choice | None, parallel: bool | None) -> Fields:
    """Return the choice; empty where it is what the API does by itself."""
    said: Fields
    if isinstance(choice, Choice):
        said = {"type": "tool", "name": choice.function.name}
    else:
        said = {"type": _TYPE_OF.get(choice or "auto", "auto")}
    if parallel is False and said["type"] != "none":
        said["disable_parallel_tool_use"] = True
    return {} if said == {"type": "auto"} else said
