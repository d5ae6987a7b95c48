"""What a call may have of tools that the gateway runs, for those that do not run them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from msgspec import Struct

from gateway.core.json_types import JsonValue


class WantedTool(Struct, frozen=True, kw_only=True):
    """A plugin that a call names."""

    # As it is registered (gateway.tools.registry); of a family behind its name and a colon.
    id: str
    # Its place in the request, such as plugins[0].
    param: str
    # Its runs are told to the caller.
    shows_events: bool = False
    # False: the call does not want it, though its workspace has it by default.
    is_enabled: bool = True
    # Of the type that the tool has for them.
    options: Any = None


class Citation(Struct, frozen=True, kw_only=True):
    """A page that the model was given."""

    url: str
    title: str = ""


class ToolResult(Struct, frozen=True, kw_only=True):
    """What a run of a tool came to."""

    # A text, or a JSON value: the model reads it.
    content: JsonValue
    # So many times the price of the tool is charged.
    units: int = 1
    citations: tuple[Citation, ...] = ()
    # Addresses of pictures, or data URLs: the caller gets them with the answer.
    images: tuple[str, ...] = ()
    # A line on it for people. Empty: the beginning of the content.
    preview: str = ""


class CallTool(Protocol):
    """A tool as one call has it (gateway.tools.bound)."""

    # As the model knows it: letters, digits, _ and -, at most 64 with the prefix.
    @property
    def function(self) -> str: ...

    # As callers, records and prices name it.
    @property
    def plugin(self) -> str: ...

    @property
    def description(self) -> str: ...

    @property
    def parameters(self) -> Mapping[str, object]: ...

    # What a unit costs the caller, in nano-USD; how many units a run has at most, and how often it
    # may run in a call.
    @property
    def nusd_each(self) -> int: ...

    @property
    def max_units(self) -> int: ...

    @property
    def max_runs(self) -> int: ...

    @property
    def shows_events(self) -> bool: ...

    async def run(self, arguments: Mapping[str, object]) -> ToolResult:
        """What it raises is told to the model as a failure of the tool; it ends no call."""
