"""Tools, and the choice among them, from Anthropic's spelling to OpenAI's.

A tool without a type is a function of the caller's. Some are defined by Anthropic and run by the
caller: models of others do not know them, so only the caller's own bytes can name them. Tools that
the provider runs are refused: each use costs money that no price here is set for.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from gateway.core.errors import RequestError, UnsupportedParameter
from gateway.core.json_types import JsonObject
from gateway.endpoints.messages import schema
from gateway.endpoints.messages.content import CACHE_CONTROL

_RUN_BY_CALLERS = re.compile(r"(?:bash|text_editor|memory|computer)_\d{8}")
OF_OPENAI = "function"
# What Anthropic adds to the prompt for one of its own:
# https://platform.claude.com/docs/en/agents-and-tools/tool-use/overview
TOKENS_OF_ITS_OWN = 2_000


def native_tool(tools: Sequence[schema.ToolDefinition]) -> tuple[str, str] | None:
    """Return the path and the name of the first tool that only Anthropic's models know.

    Raises UnsupportedParameter for a tool that the provider runs, RequestError for one without a
    name or a schema, and for two of one name.
    """
    found = None
    names: set[str] = set()
    for index, tool in enumerate(tools):
        path = f"tools.{index}"
        if is_callers(tool):
            for member in ("name", "input_schema"):
                if getattr(tool, member) is None:
                    raise RequestError(f"{path}.{member} is required.", param=f"{path}.{member}")
        elif _RUN_BY_CALLERS.fullmatch(tool.type or ""):
            found = found or (path, f"the tool {tool.type}")
        elif tool.type == OF_OPENAI:
            raise RequestError(
                f"{path} is a tool of OpenAI's format. Send name, description and input_schema,"
                " without type.",
                param=f"{path}.type",
            )
        else:
            raise UnsupportedParameter(
                f"The tool {(tool.type or '')[:64]} is not available: tools that the provider runs"
                " have no price here.",
                param=f"{path}.type",
            )
        name = tool.name or tool.type or ""
        if name in names:
            raise RequestError(f"Two tools are named {name}.", param=f"{path}.name")
        names.add(name)
    return found


def is_callers(tool: schema.ToolDefinition) -> bool:
    """True for a function of the caller's own."""
    return tool.type in (None, "custom")


def write_tools(tools: Sequence[schema.ToolDefinition]) -> list[JsonObject]:
    """Return the caller's functions in OpenAI's spelling."""
    return [_write(tool) for tool in tools if is_callers(tool)]


def marks_of(tools: Sequence[schema.ToolDefinition]) -> frozenset[str]:
    """Return the name of the marks for the prompt cache where tools have some, else nothing."""
    is_marked = any(tool.cache_control is not None for tool in tools)
    return frozenset({CACHE_CONTROL}) if is_marked else frozenset()


def _write(tool: schema.ToolDefinition) -> JsonObject:
    function: JsonObject = {"name": tool.name}
    if tool.description is not None:
        function["description"] = tool.description
    function["parameters"] = tool.input_schema
    if tool.strict is not None:
        function["strict"] = tool.strict
    written: JsonObject = {"type": "function", "function": function}
    if tool.cache_control is not None:
        written[CACHE_CONTROL] = tool.cache_control
    return written


def write_choice(
    request: schema.MessagesRequest, names: frozenset[str]
) -> tuple[str | JsonObject | None, bool | None]:
    """Return tool_choice and parallel_tool_calls; None for what is not said. names: of all tools.

    Raises RequestError for a choice of a tool that there is not.
    """
    choice = request.tool_choice
    if choice is None:
        return None, None
    if isinstance(choice, schema.ChooseNone):
        return ("none" if names else None), None
    if not names:
        raise RequestError("tool_choice needs tools.", param="tool_choice")
    said: str | JsonObject = "required" if isinstance(choice, schema.ChooseAny) else "auto"
    if isinstance(choice, schema.ChooseTool):
        if choice.name not in names:
            raise RequestError(
                f"tool_choice names {choice.name}, which is not in tools.",
                param="tool_choice.name",
            )
        said = {"type": "function", "function": {"name": choice.name}}
    return said, False if choice.disable_parallel_tool_use else None
