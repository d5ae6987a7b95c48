"""The tool web_search: asks a search service of the operator's choice, or a static index."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from msgspec import Meta, Struct

from gateway.core.server_tools import Citation, ToolResult
from gateway.tools.arguments import read_arguments, schema_of
from gateway.tools.backends import BACKENDS, search
from gateway.tools.base import ServerTool, ToolContext

MAX_RESULTS = 10
USUAL_RESULTS = 5
Count = Annotated[int, Meta(ge=1, le=MAX_RESULTS)]


class Arguments(Struct):
    query: Annotated[str, Meta(min_length=1, max_length=400, description="What to search for.")]
    max_results: Count | None = None


class Options(Struct, forbid_unknown_fields=True):
    # The most that a search returns, whatever the model asks for.
    max_results: Count | None = None


class WebSearch(ServerTool):
    name = "web_search"
    description = (
        "Searches the web. Returns the title, the URL and a snippet of each page. Cite the URLs of "
        "the pages that you use, as Markdown links."
    )
    unit = "search"
    max_runs = 10
    options = Options
    backends = BACKENDS

    @property
    def parameters(self) -> Mapping[str, object]:
        return schema_of(Arguments)

    async def run(self, arguments: Mapping[str, object], context: ToolContext) -> ToolResult:
        asked = read_arguments(arguments, Arguments)
        most = context.options.max_results or MAX_RESULTS
        count = min(asked.max_results or USUAL_RESULTS, most)
        hits = await search(context, asked.query, count)
        found = [{"title": hit.title, "url": hit.url, "snippet": hit.snippet} for hit in hits]
        return ToolResult(
            content={"results": found},
            citations=tuple(Citation(url=hit.url, title=hit.title) for hit in hits),
            preview=", ".join(hit.title or hit.url for hit in hits) or "No results",
        )
