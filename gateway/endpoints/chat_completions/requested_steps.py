"""Which processors and server tools a request names."""

from __future__ import annotations

from gateway.core.errors import PluginUnavailable, RequestError, UnknownProcessor
from gateway.core.json_types import JsonObject
from gateway.endpoints.chat_completions.processor_options import check_options
from gateway.endpoints.chat_completions.schema import ChatCompletionRequest
from gateway.processors.registry import PROCESSORS
from gateway.tools.registry import TOOLS


def read_processors(inferada: JsonObject) -> tuple[str, ...]:
    """Return the names in `inferada.processors`.

    Raises RequestError for an object that is none of `inferada`, UnknownProcessor.
    """
    check_options(inferada)
    names = inferada.get("processors") or ()
    for index, name in enumerate(names):
        if name not in PROCESSORS:
            raise UnknownProcessor(
                f"The processor {name[:64]} does not exist.", param=f"inferada.processors[{index}]"
            )
    return tuple(names)


def read_server_tools(request: ChatCompletionRequest) -> tuple[tuple[str, bool], ...]:
    """Return the enabled `plugins`, each with whether its events are shown.

    Raises PluginUnavailable for one that does not exist here, RequestError for one that is named
    twice, or for more than one answer.
    """
    found: dict[str, bool] = {}
    for index, plugin in enumerate(request.plugins or ()):
        name, place = plugin.get("id"), f"plugins[{index}].id"
        if not isinstance(name, str) or name not in TOOLS:
            raise PluginUnavailable(f"The plugin {str(name)[:64]} is not available.", param=place)
        if name in found:
            raise RequestError(f"The plugin {name} is named twice.", param=place)
        events = plugin.get("events")
        found[name] = bool(request.hi_tool_events if events is None else events)
        if plugin.get("enabled") is False:
            del found[name]
    if found and (request.n or 1) > 1:
        raise RequestError("n must be 1 with plugins.", param="n")
    return tuple(found.items())
