"""The tool pdf: the text of pages of a PDF, from a URL or a file of the workspace. PDFs that are
attached to its calls are sent as their text (gateway.files.attachment_loader)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from msgspec import Meta, Struct

from gateway.core.server_tools import Citation, ToolResult
from gateway.tools.arguments import read_arguments, schema_of
from gateway.tools.base import ServerTool, ToolContext, ToolFailed

MAX_PAGES = 20
MAX_TEXT_CHARS = 100_000
MAX_FILE_BYTES = 50 * 1024 * 1024
PDF_MARK = b"%PDF-"
MARK_WITHIN = 1_024


class Arguments(Struct):
    url: Annotated[str, Meta(max_length=2_000, description="The URL of the PDF.")] = ""
    file_id: Annotated[str, Meta(max_length=100, description="The ID of a file, instead.")] = ""
    pages: Annotated[
        str, Meta(max_length=100, description="Such as 1-3,7. Default: the first 20.")
    ] = ""


class Engine(Struct, forbid_unknown_fields=True):
    # The only one that there is; other gateways have more.
    engine: Literal["pdf-text"] | None = None


class Options(Struct, forbid_unknown_fields=True):
    pdf: Engine | None = None


class Pdf(ServerTool):
    name = "pdf"
    description = (
        f"Returns the text of pages of a PDF, by its URL or the ID of a file: up to {MAX_PAGES} "
        "pages at a time."
    )
    unit = "page"
    max_units = MAX_PAGES
    max_runs = 5
    options = Options
    turns_pdfs_to_text = True

    @property
    def parameters(self) -> Mapping[str, object]:
        return schema_of(Arguments)

    async def run(self, arguments: Mapping[str, object], context: ToolContext) -> ToolResult:
        asked = read_arguments(arguments, Arguments)
        if bool(asked.url) == bool(asked.file_id):
            raise ToolFailed("Give either url or file_id.")
        content = await _load(asked, context)
        if PDF_MARK not in content[:MARK_WITHIN]:
            raise ToolFailed("This is not a PDF.")
        pages = await context.services.read_pdf(
            content, with_pictures=False, owner=context.workspace_id, param=""
        )
        numbers = read_pages(asked.pages, len(pages))
        texts = []
        left = MAX_TEXT_CHARS
        for number in numbers:
            text = pages[number - 1].text[:left]
            left -= len(text)
            texts.append({"page": number, "text": text})
        return ToolResult(
            content={"page_count": len(pages), "pages": texts},
            units=len(numbers),
            citations=(Citation(url=asked.url),) if asked.url else (),
            preview=f"{len(numbers)} of {len(pages)} pages",
        )


async def _load(asked: Arguments, context: ToolContext) -> bytes:
    if asked.url:
        return (await context.fetch(asked.url)).content
    files = context.services.stored_files
    if files is None:
        raise ToolFailed("Files cannot be read here. Give a url.")
    found = await files.read(
        asked.file_id, owner=context.workspace_id, param="", most_bytes=MAX_FILE_BYTES
    )
    return found.content


def read_pages(text: str, count: int) -> list[int]:
    """Return the numbers of the wanted pages, in their order. Raises ToolFailed."""
    if not text.strip():
        return list(range(1, min(count, MAX_PAGES) + 1))
    found: set[int] = set()
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        begin, end = first.strip(), last.strip() if dash else first.strip()
        if not (begin.isdecimal() and end.isdecimal() and len(begin) < 6 and len(end) < 6):
            raise ToolFailed("pages must look like 1-3,7.")
        found.update(range(int(begin), min(int(end), count) + 1))
    wanted = sorted(number for number in found if 1 <= number <= count)
    if not wanted:
        raise ToolFailed(f"The PDF has {count} pages.")
    if len(wanted) > MAX_PAGES:
        raise ToolFailed(f"At most {MAX_PAGES} pages can be read at a time.")
    return wanted
