"""Options of the processors of the contract (section 6.5.2) that do not run here yet.

They are checked already: a misspelt option is refused. A processor that runs has its options in
its own file.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from msgspec import Meta, Struct

from gateway.core.json_types import JsonObject, JsonValue

Share = Annotated[float, Meta(ge=0, le=1)]


class HaystackSettings(Struct, forbid_unknown_fields=True):
    """data: any JSON tree; schema: flags beside its leaves."""

    data: JsonValue = None
    schema: JsonObject | None = None
    format: str | None = None
    redact: bool | None = None


NOT_YET_RUN: Mapping[str, type[Struct]] = {
    "haystack": HaystackSettings,
}
