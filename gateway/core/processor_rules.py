"""What a workspace has decided of processors: those that its calls must go through, and services of
its own that they may ask."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from gateway.core.egress import HostRules

ServiceKind = Literal["presidio", "languagetool"]


class ServiceSettings(Struct, frozen=True, kw_only=True):
    """A service of the workspace's own that a processor may ask."""

    service_id: str
    # What it speaks.
    kind: ServiceKind
    url: str
    # Its credential, encrypted for the row of this id; empty for none.
    sealed: bytes = b""
    row_id: str = ""
    # Which hosts may be asked for the workspace.
    hosts: HostRules = HostRules()


class RequiredProcessor(Struct, frozen=True, kw_only=True):
    """A processor that calls go through whatever they say."""

    name: str
    # Its member of `inferada`; that of a call does not count.
    options: Mapping[str, object]
    # Of calls that do not say theirs; empty for none.
    language: str = ""


class ProcessorRules(Struct, frozen=True, kw_only=True):
    """Of a key, with those of its workspace."""

    # By their names.
    required: Mapping[str, RequiredProcessor] = {}
    # By their ids.
    services: Mapping[str, ServiceSettings] = {}

    @property
    def language(self) -> str | None:
        """The language of calls that do not say theirs."""
        said = (one.language for one in self.required.values() if one.language)
        return next(said, None)


NO_RULES = ProcessorRules()
