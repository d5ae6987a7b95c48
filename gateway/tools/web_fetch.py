"""The tool web_fetch: the readable text of a page, fetched through the guarded client."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from msgspec import Meta, Struct

from gateway.core.server_tools import Citation, ToolResult
from gateway.tools.arguments import read_arguments, schema_of
from gateway.tools.base import ServerTool, ToolContext, ToolFailed

ENGINE = "gateway.tools.readable_text"
MAX_TEXT_BYTES = 100_000
MAX_PAGE_BYTES = 5 * 1024 * 1024


class Arguments(Struct):
    url: Annotated[str, Meta(min_length=1, max_length=2_000, description="The URL of the page.")]


class WebFetch(ServerTool):
    name = "web_fetch"
    description = "Fetches a web page or a text file by its URL and returns its readable text."
    unit = "page"
    # As many as one call may have of the web (contract, C44).
    max_runs = 5

    @property
    def parameters(self) -> Mapping[str, object]:
        return schema_of(Arguments)

    async def run(self, arguments: Mapping[str, object], context: ToolContext) -> ToolResult:
        url = read_arguments(arguments, Arguments).url
        fetched = await context.fetch(url)
        content, url = fetched.content, fetched.url
        if len(content) > MAX_PAGE_BYTES:
            raise ToolFailed(f"The page is larger than {MAX_PAGE_BYTES // 2**20} MB.")
        found = await context.services.run_engine(
            ENGINE, {"content": content, "url": url}, owner=context.workspace_id
        )
        text, title = str(found["text"]), str(found["title"])
        if not found["is_text"]:
            raise ToolFailed("This URL has no text.")
        if found["is_slow"]:
            raise ToolFailed("The page takes too long to read.")
        if not text:
            raise ToolFailed("The page has no readable text.")
        said: dict[str, object] = {"url": url, "title": title, "text": text}
        if found["is_cut"]:
            said["note"] = f"The text was cut after {MAX_TEXT_BYTES // 1000} KB."
        return ToolResult(
            content=said,
            citations=(Citation(url=url, title=title),),
            preview=f"{title or url}: {len(text):,} characters",
        )
