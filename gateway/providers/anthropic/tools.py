"""Tools, and the choice among them, from OpenAI's spelling to Anthropic's."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from gateway.providers.offered_tools import Function, OfferedTools, read_offered_tools

Fields = dict[str, object]
EMPTY_SCHEMA: Mapping[str, object] = {"type": "object", "properties": {}}
_TYPE_OF = {"auto": "auto", "required": "any", "none": "none"}


class Tools(msgspec.Struct):
    """What a call's tools come to. fields: those of the request. is_forced: the model has to call
    one. drops_strict: it is not told which tools are strict."""

    fields: Fields
    is_forced: bool = False
    drops_strict: bool = False


def translate_tools(fields: Mapping[str, bytes], *, takes_strict: bool) -> Tools:
    """Return the tools of a call. Raises as read_offered_tools."""
    offered = read_offered_tools(fields)
    if not offered.functions:
        return Tools({})
    written = [_write(function, takes_strict=takes_strict) for function in offered.functions]
    is_strict = any(function.strict for function in offered.functions)
    said = _choose(offered)
    return Tools(
        {"tools": written} | ({"tool_choice": said} if said else {}),
        is_forced=offered.choice in ("required", "named"),
        drops_strict=is_strict and not takes_strict,
    )


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


def _choose(offered: OfferedTools) -> Fields:
    """Return the choice; empty where it is what the API does by itself."""
    said: Fields
    if offered.choice == "named":
        said = {"type": "tool", "name": offered.name}
    else:
        said = {"type": _TYPE_OF[offered.choice]}
    if offered.parallel is False and offered.choice != "none":
        said["disable_parallel_tool_use"] = True
    return {} if said == {"type": "auto"} else said
