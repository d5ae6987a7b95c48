"""The settings of server tools, as calls of a workspace have them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRecord:
    """A tool: what answers it, and what it costs. Secrets stay out of repr."""

    tool: str
    is_enabled: bool = True
    # Of gateway.tools.backends; empty for a tool that needs none.
    backend: str = ""
    base_url: str = ""
    secret: str = field(default="", repr=False)
    # The credential cannot be decrypted, or its variable is not set.
    problem: str = ""
    # The workspace has set it: its address is not the operator's.
    is_own: bool = False
    # The price of a unit.
    nusd_each: int = 0
    # The public name of the model that makes images.
    model: str = ""
    # The documents of a static index: title, url, text.
    documents: tuple[Mapping[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceTools:
    """What is set of tools for a workspace, its own settings in the place of the
    installation's."""

    records: Mapping[str, ToolRecord] = field(default_factory=lambda: MappingProxyType({}))
