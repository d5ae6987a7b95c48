"""The tool datetime: what time it is, here or in another time zone."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, tzinfo
from typing import Annotated
from zoneinfo import ZoneInfo

from msgspec import Meta, Struct

from gateway.core.server_tools import ToolResult
from gateway.tools.arguments import read_arguments, schema_of
from gateway.tools.base import ServerTool, ToolContext, ToolFailed


class Arguments(Struct):
    timezone: Annotated[
        str, Meta(max_length=64, description="An IANA time zone, such as Europe/Amsterdam.")
    ] = "UTC"


class DateTime(ServerTool):
    name = "datetime"
    description = "Returns the current date and time."

    @property
    def parameters(self) -> Mapping[str, object]:
        return schema_of(Arguments)

    async def run(self, arguments: Mapping[str, object], context: ToolContext) -> ToolResult:
        asked = read_arguments(arguments, Arguments)
        zone: tzinfo
        try:
            zone = UTC if asked.timezone == "UTC" else ZoneInfo(asked.timezone)
        except (LookupError, OSError, ValueError):
            raise ToolFailed("The time zone is unknown. Use an IANA name.") from None
        now = datetime.now(zone)
        return ToolResult(
            content={
                "datetime": now.isoformat(timespec="seconds"),
                "weekday": now.strftime("%A"),
                "unix": int(now.timestamp()),
                "timezone": asked.timezone,
            }
        )

    def without_tools(self) -> str:
        now = datetime.now(UTC)
        return f"The current date and time is {now:%A}, {now.isoformat(timespec='minutes')} (UTC)."
