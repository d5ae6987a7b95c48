"""The `plugins` of a request (gateway contract, section 6.10): which server tools it names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import msgspec
from msgspec import Struct

from gateway.core.errors import PluginUnavailable, RequestError
from gateway.core.json_types import JsonObject
from gateway.core.server_tools import WantedTool
from gateway.endpoints.reading import explain_inside
from gateway.tools.registry import ALIASES, TOOLS, family_of

MAX_PLUGINS = 32
_COMMON = ("id", "events", "enabled")
# Of the options, only the size of an image has a pattern.
SIZE_WORDS = "auto, or a size such as 1024x1024"


S = TypeVar("S", bound=Struct)


class Plugin(Struct):
    """What every plugin may say."""

    id: str
    events: bool | None = None
    enabled: bool | None = None


def read_plugins(
    given: Sequence[JsonObject] | None, *, shows_events: bool, n: int = 1
) -> tuple[WantedTool, ...]:
    """Return the plugins as read_wanted does. Raises as it does, and RequestError for more than one
    answer."""
    placed = [(f"plugins[{index}]", member) for index, member in enumerate(given or ())]
    found = read_wanted(placed, shows_events=shows_events, place="plugins")
    if n > 1 and any(one.is_enabled for one in found):
        raise RequestError("n must be 1 with plugins.", param="n")
    return found


def read_wanted(
    given: Sequence[tuple[str, JsonObject]], *, shows_events: bool, place: str
) -> tuple[WantedTool, ...]:
    """Return the enabled plugins, and those disabled that a workspace may have by default. given:
    each behind its place in the request. place: of all.

    Raises PluginUnavailable for one that does not exist here, RequestError for one that is named
    twice, or for options that it does not have.
    """
    if len(given) > MAX_PLUGINS:
        raise RequestError(f"A request can have at most {MAX_PLUGINS} plugins.", param=place)
    found: dict[str, WantedTool] = {}
    seen: set[str] = set()
    for param, member in given:
        plugin = _convert(member, Plugin, param)
        name = name_of(plugin.id)
        options_type = _options_of(name)
        if options_type is None:
            message = f"The plugin {plugin.id[:64] or repr('')} does not exist."
            raise PluginUnavailable(message, param=f"{param}.id")
        if name in seen:
            raise RequestError(f"The plugin {name} is named twice.", param=f"{param}.id")
        seen.add(name)
        own = {key: value for key, value in member.items() if key not in _COMMON}
        options = _convert(own, options_type, param)
        is_enabled = plugin.enabled is not False
        if is_enabled or family_of(name) is not None:
            found[name] = WantedTool(
                id=name,
                param=param,
                shows_events=shows_events if plugin.events is None else plugin.events,
                is_enabled=is_enabled,
                options=options,
            )
    return tuple(found.values())


def name_of(plugin: str) -> str:
    """Return the name of a plugin that has others, too."""
    return ALIASES.get(plugin, plugin)


def _options_of(name: str) -> type[Struct] | None:
    if name in TOOLS:
        return TOOLS[name].options
    family = family_of(name)
    return None if family is None else family[0].options


def _convert(given: JsonObject, kind: type[S], param: str) -> S:
    """Raises RequestError with the path of what is no such value."""
    try:
        return msgspec.convert(given, kind)
    except msgspec.ValidationError as error:
        raise explain_inside(error, lambda _: SIZE_WORDS, kind, param) from None
