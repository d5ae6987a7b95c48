"""Tools, and the choice among them, as Converse's toolConfig.

Reference: https://docs.aws.amazon.com/bedrock/latest/userguide/tool-use.html
There is no word for `none`, so the tools stay away; but after calls of tools there has to be a
toolConfig: https://github.com/langgenius/dify/issues/17545
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from gateway.core.errors import UnsupportedParameter
from gateway.providers.bedrock.content import mark
from gateway.providers.offered_tools import Function, OfferedTools, read_offered_tools

Fields = dict[str, object]
EMPTY_SCHEMA: Mapping[str, object] = {"type": "object", "properties": {}}


class Tools(msgspec.Struct):
    """What a call's tools come to. fields: those of the request. is_forced: the model has to call
    one. dropped: names of what it is not told."""

    fields: Fields
    is_forced: bool
    dropped: set[str]


def translate_tools(
    fields: Mapping[str, bytes], called: Sequence[str], *, takes_strict: bool
) -> Tools:
    """Return the tools of a call. called: the names of those in its messages.

    Raises as read_offered_tools, and UnsupportedParameter for tools that must not be called after
    some were.
    """
    offered = read_offered_tools(fields)
    dropped = _find_dropped(offered, takes_strict=takes_strict)
    if offered.functions and offered.choice == "none":
        if called:
            raise UnsupportedParameter(
                'This model does not support tool_choice "none" after tool calls.',
                param="tool_choice",
            )
        return Tools({}, is_forced=False, dropped=dropped)
    functions = offered.functions or [Function(name) for name in called]
    if not functions:
        return Tools({}, is_forced=False, dropped=dropped)
    config: Fields = {
        "tools": [
            block for function in functions for block in _write(function, takes_strict=takes_strict)
        ]
    }
    if offered.functions and offered.choice == "required":
        config["toolChoice"] = {"any": {}}
    elif offered.functions and offered.choice == "named":
        config["toolChoice"] = {"tool": {"name": offered.name}}
    return Tools({"toolConfig": config}, is_forced="toolChoice" in config, dropped=dropped)


def _find_dropped(offered: OfferedTools, *, takes_strict: bool) -> set[str]:
    dropped = set()
    if offered.parallel is False and offered.functions:
        dropped.add("parallel_tool_calls")
    if not takes_strict and any(function.strict for function in offered.functions):
        dropped.add("strict")
    return dropped


def _write(function: Function, *, takes_strict: bool) -> list[Fields]:
    schema = function.parameters
    spec: Fields = {
        "name": function.name,
        "inputSchema": {"json": EMPTY_SCHEMA if not schema else {"type": "object", **schema}},
    }
    if function.description:
        spec["description"] = function.description
    if function.strict and takes_strict:
        spec["strict"] = True
    return [{"toolSpec": spec}, *mark(function.cache_control)]
