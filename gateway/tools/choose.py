"""Finds the tools of a call: those of the gateway that its plugins name, and those of its
workspace."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from gateway.core.egress import Requester
from gateway.core.errors import PluginUnavailable, RequestError
from gateway.core.server_tools import WantedTool
from gateway.snapshot.tools import ToolRecord, WorkspaceTools
from gateway.tools.base import ServerTool, ToolContext, ToolFamily, ToolServices
from gateway.tools.bound import BoundTool
from gateway.tools.registry import FAMILIES, TOOLS, family_of
from gateway.tools.rounds import PREFIX

MAX_NAME_CHARS = 64
FindWorkspaceTools = Callable[[str], Awaitable[WorkspaceTools]]


class DefaultTools(NamedTuple):
    """How a call has the tools that its workspace has by default. shows_events: their runs are told
    to the caller."""

    shows_events: bool


class ToolChooser:
    """For all calls of a process. find: returns what is set for a workspace."""

    def __init__(self, services: ToolServices, find: FindWorkspaceTools) -> None:
        self._services = services
        self._find = find

    async def choose(
        self,
        named: Sequence[WantedTool],
        *,
        requester: Requester,
        call_id: str,
        defaults: DefaultTools | None,
    ) -> list[BoundTool]:
        """Return the tools that the plugins of a call stand for. defaults: None for a call without
        those that its workspace has by default.

        Raises PluginUnavailable, RequestError for two tools of the same name, DatabaseUnavailable.
        """
        workspace = await self._find(requester.workspace_id)
        wanted = [one for one in named if one.is_enabled]
        if defaults is not None:
            wanted += default_tools(workspace, {one.id for one in named}, defaults)
        found: list[BoundTool] = []
        for one in wanted:
            context = ToolContext(
                requester=requester,
                call_id=call_id,
                options=one.options,
                record=ToolRecord(tool=one.id),
                workspace=workspace,
                services=self._services,
            )
            family = family_of(one.id)
            if family is not None:
                tools = await _find(family, one, context)
                found += [_bind(tool, one, context) for tool in tools]
            else:
                found.append(_bind_own(TOOLS[one.id], one, context))
        _check_names(found, wanted)
        return found


def default_tools(
    workspace: WorkspaceTools, named: Collection[str], defaults: DefaultTools
) -> Iterator[WantedTool]:
    """Yield what a workspace has by default and a call does not name, as the call would."""
    for family in FAMILIES.values():
        for name in family.defaults(workspace):
            plugin = f"{family.name}:{name}"
            if plugin not in named:
                yield WantedTool(
                    id=plugin,
                    param="plugins",
                    shows_events=defaults.shows_events,
                    options=family.options(),
                )


async def _find(
    family: tuple[ToolFamily, str], one: WantedTool, context: ToolContext
) -> Sequence[ServerTool]:
    """Raises GatewayError, with the place of the plugin where it names none."""
    try:
        return await family[0].find(family[1], context)
    except PluginUnavailable as error:
        error.param = error.param or f"{one.param}.id"
        raise


def _bind(tool: ServerTool, one: WantedTool, context: ToolContext) -> BoundTool:
    """Return a tool of a family: its price is its own."""
    record = replace(context.record, nusd_each=tool.nusd_each)
    return BoundTool(
        tool=tool,
        plugin=one.id,
        context=replace(context, record=record),
        shows_events=one.shows_events,
    )


def _bind_own(tool: ServerTool, one: WantedTool, context: ToolContext) -> BoundTool:
    """Return a tool of the gateway, as it is set for the workspace. Raises PluginUnavailable."""
    record = context.workspace.records.get(tool.name)
    if record is None:
        record = ToolRecord(tool=tool.name, nusd_each=tool.nusd_each)
    if problem := find_problem(tool, record):
        raise PluginUnavailable(problem, param=f"{one.param}.id")
    return BoundTool(
        tool=tool,
        plugin=tool.name,
        context=replace(context, record=record),
        shows_events=one.shows_events,
    )


def find_problem(tool: ServerTool, record: ToolRecord) -> str:
    """Return why the tool cannot be used as it is set, empty where it can."""
    if not record.is_enabled:
        return f"The plugin {tool.name} is disabled."
    if (tool.backends and record.backend not in tool.backends) or (
        tool.needs_model and not record.model
    ):
        return f"The plugin {tool.name} is not configured."
    return f"The plugin {tool.name} cannot be used: {record.problem}" if record.problem else ""


def _check_names(found: Sequence[BoundTool], wanted: Sequence[WantedTool]) -> None:
    """Raises RequestError where the model could not tell two tools apart."""
    params = {one.id: one.param for one in wanted}
    for name, plugin in _twice(found):
        raise RequestError(f"Two plugins have a tool named {name}.", param=params.get(plugin))
    for tool in found:
        if len(PREFIX + tool.function) > MAX_NAME_CHARS:
            raise RequestError(
                f"The name {tool.function[:MAX_NAME_CHARS]} is too long for a tool.",
                param=params.get(tool.plugin),
            )


def _twice(found: Sequence[BoundTool]) -> Iterator[tuple[str, str]]:
    seen: set[str] = set()
    for tool in found:
        if tool.function in seen:
            yield tool.function, tool.plugin
        seen.add(tool.function)
