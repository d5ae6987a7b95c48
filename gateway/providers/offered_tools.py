"""The tools that a call offers, and the choice among them, for adapters that translate them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, TypeVar

import msgspec

from gateway.core.errors import RequestError, UnsupportedParameter

NO_CUSTOM_TOOLS = "This model does not support custom tools."
T = TypeVar("T")


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


class OfferedTools(msgspec.Struct):
    """The functions that may be called. choice: auto, required, none, or named, which is the
    function `name`. parallel: None where the caller does not say."""

    functions: list[Function]
    choice: Literal["auto", "required", "none", "named"] = "auto"
    name: str = ""
    parallel: bool | None = None


_read_tools = msgspec.json.Decoder(list[Tool] | None).decode
_read_choice = msgspec.json.Decoder(str | Choice | None).decode
_read_flag = msgspec.json.Decoder(bool | None).decode
_WORDS: Mapping[str, Literal["required", "none"]] = {
    "required": "required",
    "any": "required",
    "none": "none",
}


def read_offered_tools(fields: Mapping[str, bytes]) -> OfferedTools:
    """Return the tools of a call; of a choice among some of them, those alone.

    Raises UnsupportedParameter for one that is no function, RequestError for what no endpoint has
    looked into and makes no sense.
    """
    tools = _read(_read_tools, fields, "tools") or []
    functions = [_function_of(tool, index) for index, tool in enumerate(tools)]
    choice = _read(_read_choice, fields, "tool_choice")
    if isinstance(choice, Choice) and choice.allowed_tools is not None:
        allowed = {tool.function.name for tool in choice.allowed_tools.tools}
        functions = [function for function in functions if function.name in allowed]
        choice = choice.allowed_tools.mode
    parallel = _read(_read_flag, fields, "parallel_tool_calls")
    if isinstance(choice, Choice):
        return OfferedTools(functions, "named", choice.function.name, parallel)
    return OfferedTools(functions, _WORDS.get(choice or "auto", "auto"), parallel=parallel)


def _read(decode: Callable[[bytes], T], fields: Mapping[str, bytes], name: str) -> T:
    try:
        return decode(fields.get(name, b"null"))
    except msgspec.ValidationError as error:
        raise RequestError(
            f"This model does not support these {name}: {error}.", param=name
        ) from None


def _function_of(tool: Tool, index: int) -> Function:
    if tool.function is None:
        raise UnsupportedParameter(NO_CUSTOM_TOOLS, param=f"tools[{index}]")
    tool.function.cache_control = tool.function.cache_control or tool.cache_control
    return tool.function
