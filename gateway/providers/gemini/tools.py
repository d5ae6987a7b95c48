"""Tools, and the choice among them, from OpenAI's spelling to Gemini's.

Reference: https://ai.google.dev/gemini-api/docs/function-calling
The parameters go as the JSON Schema that they are: parametersJsonSchema, which both addresses of
the API take.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from gateway.providers.offered_tools import Function, OfferedTools, read_offered_tools

Fields = dict[str, object]


class Tools(msgspec.Struct):
    """What a call's tools come to. fields: those of the request. dropped: names of what is left
    out."""

    fields: Fields
    dropped: set[str]


def translate_tools(fields: Mapping[str, bytes]) -> Tools:
    """Return the tools of a call. Raises as read_offered_tools."""
    offered = read_offered_tools(fields)
    if not offered.functions:
        return Tools({}, set())
    said: Fields = {"tools": [{"functionDeclarations": [_write(f) for f in offered.functions]}]}
    if config := _choose(offered):
        said["toolConfig"] = {"functionCallingConfig": config}
    # It calls as many at once as it sees fit.
    one_at_a_time = offered.parallel is False and offered.choice != "none"
    return Tools(said, {"parallel_tool_calls"} if one_at_a_time else set())


def _write(function: Function) -> Fields:
    said: Fields = {"name": function.name}
    if function.description:
        said["description"] = function.description
    if function.parameters:
        said["parametersJsonSchema"] = {"type": "object", **function.parameters}
    return said


def _choose(offered: OfferedTools) -> Fields:
    """Return the choice; empty where it is what the API does by itself."""
    match offered.choice:
        case "named":
            return {"mode": "ANY", "allowedFunctionNames": [offered.name]}
        case "required":
            return {"mode": "ANY"}
        case "none":
            return {"mode": "NONE"}
    # Text or calls as with AUTO, but calls keep to their schemas.
    is_strict = any(function.strict for function in offered.functions)
    return {"mode": "VALIDATED"} if is_strict else {}
