"""`tools` and `tool_choice` as chat completions have them.

Those that the gateway runs are read elsewhere (gateway.endpoints.responses.server_tools). Those
that a provider runs are refused: what they cost is not told in tokens.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from gateway.core.errors import RequestError, UnsupportedParameter
from gateway.core.json_types import JsonObject
from gateway.endpoints.responses import schema
from gateway.endpoints.responses.items import convert
from gateway.endpoints.responses.server_tools import is_idle, is_server_tool, name_of_type
from gateway.tools.rounds import PREFIX

TAKEN = ("function", "custom")
# Between the name of a namespace and that of a tool in it, where a model is told of the tool.
JOINT = "__"


def flatten(given: Sequence[JsonObject]) -> Iterator[tuple[str, JsonObject]]:
    """Yield each tool behind its place, those of a namespace under a joint name."""
    for index, tool in enumerate(given):
        inner = tool.get("tools")
        if tool.get("type") == "namespace" and isinstance(inner, list):
            for number, one in enumerate(inner):
                place = f"tools[{index}].tools[{number}]"
                named = one if isinstance(one, dict) else {}
                yield place, named | {"name": join(tool.get("name"), named.get("name"))}
        elif not is_idle(tool) and not is_server_tool(tool):
            yield f"tools[{index}]", tool


def join(namespace: object, name: object) -> str:
    return f"{namespace}{JOINT}{name}"


def read_namespaces(given: Sequence[JsonObject]) -> dict[str, tuple[str, str]]:
    """Return the namespace and the name of each tool that has a joint name."""
    return {
        join(tool.get("name"), one.get("name")): (str(tool.get("name")), str(one.get("name")))
        for tool in given
        if tool.get("type") == "namespace" and isinstance(tool.get("tools"), list)
        for one in tool["tools"]
        if isinstance(one, dict)
    }


def read_tools(given: Sequence[JsonObject]) -> dict[str, schema.ToolSpec]:
    """Return the tools by their places. Raises UnsupportedParameter for those of other kinds,
    RequestError."""
    found: dict[str, schema.ToolSpec] = {}
    for path, tool in flatten(given):
        kind = tool.get("type")
        if isinstance(kind, str) and kind not in TAKEN:
            raise UnsupportedParameter(
                f"Tools of the type {kind[:64]} are not available.",
                param=f"{path}.type",
            )
        spec = convert(tool, schema.ToolSpec, path)
        assert isinstance(spec, schema.FunctionToolSpec | schema.CustomToolSpec)
        found[path] = spec
    return found


def read_choice(given: JsonObject | str | None) -> object:
    """Return tool_choice as its type. Raises UnsupportedParameter, RequestError."""
    if not isinstance(given, dict):
        return given
    kind = given.get("type")
    if is_server_tool(given):
        return schema.ServerToolChoice(name_of_type(str(kind)))
    if isinstance(kind, str) and kind not in (*TAKEN, "allowed_tools"):
        raise UnsupportedParameter(
            f"A tool_choice of the type {kind[:64]} is not available.", param="tool_choice.type"
        )
    return convert(given, schema.ResponsesToolChoice, "tool_choice")


def choose_tools(
    tools: Mapping[str, schema.ToolSpec], choice: object
) -> tuple[Mapping[str, schema.ToolSpec], object]:
    """Return the tools, and the choice among them. Of tools of which only some are allowed the
    others are left out, which every provider understands."""
    if isinstance(choice, schema.AllowedToolsChoice):
        return _allowed(tools, choice), choice.mode
    return tools, choice


def write_tools(tools: Collection[schema.ToolSpec], choice: object) -> JsonObject:
    """Return the members of a chat completion."""
    said: JsonObject = {}
    if isinstance(choice, schema.ServerToolChoice):
        choice = schema.FunctionChoice(PREFIX + choice.type)
    if tools:
        said["tools"] = [_write_tool(tool) for tool in tools]
    if isinstance(choice, schema.FunctionChoice):
        said["tool_choice"] = {"type": "function", "function": {"name": choice.name}}
    elif isinstance(choice, schema.CustomChoice):
        said["tool_choice"] = {"type": "custom", "custom": {"name": choice.name}}
    # Without tools there is no choice; clients say "auto" or "none" all the same.
    elif choice is not None and (tools or choice == "required"):
        said["tool_choice"] = choice
    return said


def _allowed(
    tools: Mapping[str, schema.ToolSpec], choice: schema.AllowedToolsChoice
) -> dict[str, schema.ToolSpec]:
    there = {_name_of(tool): path for path, tool in tools.items()}
    for index, named in enumerate(choice.tools):
        if (named.type, named.name) not in there and not is_server_tool({"type": named.type}):
            raise RequestError(
                f"tool_choice names {named.name or named.type}, which is not in tools.",
                param=f"tool_choice.tools[{index}].name",
            )
    wanted = {(named.type, named.name) for named in choice.tools}
    return {path: tools[path] for name, path in there.items() if name in wanted}


def _name_of(tool: schema.ToolSpec) -> tuple[str, str]:
    return ("custom" if isinstance(tool, schema.CustomToolSpec) else "function"), tool.name


def _write_tool(tool: schema.ToolSpec) -> JsonObject:
    given: JsonObject = {"name": tool.name}
    if tool.description is not None:
        given["description"] = tool.description
    if isinstance(tool, schema.FunctionToolSpec):
        if tool.parameters is not None:
            given["parameters"] = tool.parameters
        if tool.strict is not None:
            given["strict"] = tool.strict
        return {"type": "function", "function": given}
    if (form := tool.format) is not None:
        grammar = {"syntax": form.syntax, "definition": form.definition}
        given["format"] = {"type": form.type} | ({"grammar": grammar} if form.definition else {})
    return {"type": "custom", "custom": given}
