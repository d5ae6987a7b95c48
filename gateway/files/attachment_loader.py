"""The stage between a call's checks and its admission: its files are brought to where they go.

What an address has is fetched. A PDF for a model that is not said to read any becomes pages:
pictures and text for a model that sees, else text alone. So does one whose call wants its text,
whatever the model reads. Several at once; nothing is done for a
call whose model takes its files as they came.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from functools import partial
from typing import Protocol, TypeVar

from gateway.core.call import AnyCall
from gateway.core.egress import NotFetched, Requester
from gateway.core.errors import CallerLeft, InvalidFile, PdfNotSupported
from gateway.core.files import Attachment, Page, Placed, ReadyFile, StoredContent
from gateway.egress.orders import Fetched
from gateway.snapshot.types import ModelRecord

T = TypeVar("T")
ReadPages = Callable[..., Awaitable[Sequence[Page]]]
PDF = "application/pdf"
# Of all stored files of a call.
MAX_STORED_BYTES = 50 * 1024 * 1024


class Fetches(Protocol):
    """Who fetches (gateway.egress.egress)."""

    async def fetch(self, url: str, requester: Requester) -> Fetched: ...


class ReadsPdfs(Protocol):
    """Who converts (gateway.files.pdf)."""

    async def read(
        self, content: bytes, *, with_pictures: bool, owner: str, param: str
    ) -> Sequence[Page]: ...


class StoresFiles(Protocol):
    """Who has stored files (gateway.runtime.stored_files)."""

    async def read(
        self, file_id: str, *, owner: str, param: str, most_bytes: int
    ) -> StoredContent: ...


class Format(Protocol):
    """The format of callers, as far as files go (gateway.endpoints.chat_completions.attach)."""

    def read_inline(self, file: Attachment) -> ReadyFile: ...

    def read_fetched(self, content: bytes, file: Attachment, name: str) -> ReadyFile: ...

    def read_stored(self, stored: StoredContent, file: Attachment) -> ReadyFile: ...

    def as_file(self, file: ReadyFile) -> Placed: ...

    def as_stored(self, file: ReadyFile) -> Placed: ...

    def as_pages(self, filename: str, pages: Sequence[Page]) -> Placed: ...

    def place(self, call: AnyCall, placed: Sequence[tuple[Attachment, Placed]]) -> AnyCall: ...


class AttachmentLoader:
    """Brings the files of calls, for all calls of a process."""

    def __init__(
        self, fetcher: Fetches, stored: StoresFiles, reader: ReadsPdfs, form: Format
    ) -> None:
        self._fetcher = fetcher
        self._stored = stored
        self._reader = reader
        self._form = form

    def wanted(self, call: AnyCall, model: ModelRecord) -> list[Attachment]:
        """Return the files that the model cannot have as they are."""
        files, as_pages = call.payload.files, converts(call, model)
        return [file for file in files if file.address or file.file_id or as_pages]

    async def load(
        self,
        call: AnyCall,
        model: ModelRecord,
        wanted: Sequence[Attachment],
        requester: Requester,
    ) -> AnyCall:
        """Return the call with these files as the model gets them.

        requester: whose documents they are. Raises FileNotFound, InvalidFile, PdfNotSupported,
        RateLimited.
        """
        stored = await self._read_stored(wanted, requester.workspace_id)
        placed = await all_of(
            [self._bring_one(file, call, model, requester, stored) for file in wanted]
        )
        # In threads, like all that looks at files as a whole: they may be long.
        return await asyncio.to_thread(
            self._form.place, call, list(zip(wanted, placed, strict=True))
        )

    async def _read_stored(
        self, wanted: Sequence[Attachment], owner: str
    ) -> dict[str, StoredContent]:
        """Return the stored files by their IDs, all of them within what one call may have."""
        found: dict[str, StoredContent] = {}
        left_bytes = MAX_STORED_BYTES
        for file in wanted:
            if not file.file_id or file.file_id in found:
                continue
            found[file.file_id] = content = await self._stored.read(
                file.file_id, owner=owner, param=file.param, most_bytes=left_bytes
            )
            left_bytes -= len(content.content)
        return found

    async def _bring_one(
        self,
        file: Attachment,
        call: AnyCall,
        model: ModelRecord,
        requester: Requester,
        stored: Mapping[str, StoredContent],
    ) -> Placed:
        if file.file_id:
            ready = await asyncio.to_thread(self._form.read_stored, stored[file.file_id], file)
        elif file.address:
            try:
                fetched = await self._fetcher.fetch(file.address, requester)
            except NotFetched as error:
                raise InvalidFile(error.message, param=file.param) from None
            ready = await asyncio.to_thread(
                self._form.read_fetched, fetched.content, file, fetched.name
            )
        else:
            ready = await asyncio.to_thread(self._form.read_inline, file)
        if ready.kind != PDF or not converts(call, model):
            write = self._form.as_stored if file.file_id else self._form.as_file
            return await asyncio.to_thread(write, ready)
        read = partial(
            self._reader.read, ready.content, owner=requester.workspace_id, param=file.param
        )
        if call.payload.wants_pdf_text:
            pages = await read_texts(read, file.param)
        else:
            pages = await read_pages(read, model, file.param)
        return await asyncio.to_thread(self._form.as_pages, ready.filename, pages)


async def read_pages(read: ReadPages, model: ModelRecord, param: str) -> Sequence[Page]:
    """Return the pages of a PDF: with pictures for a model that is said to see; for one of which
    nobody has said, where there is no text."""
    sees = model.supports.get("vision") is True
    pages = await read(with_pictures=sees)
    if sees or any(page.text for page in pages):
        return pages
    if model.can("vision"):
        return await read(with_pictures=True)
    message = f"{model.name} does not support PDF files, and this one has no text."
    raise PdfNotSupported(message, param=param)


async def read_texts(read: ReadPages, param: str) -> Sequence[Page]:
    """Return the pages of a PDF without pictures, for a call that wants its text."""
    pages = await read(with_pictures=False)
    if any(page.text for page in pages):
        return pages
    message = "With the plugin pdf the model gets the text of PDF files, and this one has no text."
    raise PdfNotSupported(message, param=param)


def converts(call: AnyCall, model: ModelRecord) -> bool:
    """True for a model that is not said to read PDFs, and for a call that wants their text."""
    return call.payload.wants_pdf_text or not model.can("pdf")


async def all_of(works: Sequence[Coroutine[object, None, T]]) -> list[T]:
    """Run all of them at once and return what they come to; the first failure ends the others."""
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        return await asyncio.gather(*tasks)
    finally:
        await end(tasks)
        tasks.clear()  # the traceback of a failure has this frame: a circle


async def unless_gone(
    hang_up: Callable[[], Awaitable[None]], work: Coroutine[object, None, T]
) -> T:
    """Return what the work comes to; it ends when the caller hangs up. Raises CallerLeft."""
    working, leaving = asyncio.ensure_future(work), asyncio.ensure_future(hang_up())
    try:
        await asyncio.wait((working, leaving), return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise CallerLeft
        return working.result()
    finally:
        await end((working, leaving))
        del working, leaving  # as above


async def end(tasks: Sequence[asyncio.Task[object]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
