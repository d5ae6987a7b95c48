"""PDFs for models that read none: a process for each, which gateway.files.pdf_worker is.

A process of its own for every document: what one of them breaks, no other is near (docs/adr/0023).
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path

import msgspec

from gateway.core.errors import InvalidFile, Quarantined, RateLimited
from gateway.core.fair_semaphore import FairSemaphore
from gateway.core.files import Page
from gateway.core.overload import spread_retry_after_s
from gateway.core.quarantine import Quarantine
from gateway.files.cache import PageCache
from gateway.files.pdf_process import Conversion, StarterProcess

MAX_PDF_BYTES = 50 * 1024 * 1024
CONVERT_S = 60.0
# Of the whole process, and of one owner. What waits has its document in memory.
MAX_AT_ONCE = 4
MAX_OF_ONE = 2
MAX_PRESENT = 32
MAX_PRESENT_OF_ONE = 16
# So long a document is not read again that broke its process, or had most of its time.
QUARANTINE_S = 3600.0
WORKER = Path(__file__).with_name("pdf_worker.py")
FAULTS = {
    "broken": "The PDF is broken.",
    "encrypted": "The PDF is encrypted.",
    "pages": "The PDF has more than 100 pages.",
    "large": "The pages of the PDF are too large.",
}
UNREADABLE = "The PDF could not be read."
QUARANTINED = "Reading this PDF failed before. It is not tried again for an hour."
_decoder: msgspec.msgpack.Decoder[list[Page] | str] = msgspec.msgpack.Decoder(list[Page] | str)


class ReaderFailed(InvalidFile):
    """The process that read the document was killed, hung, or said what makes no sense."""


class PdfReader:
    """Turns PDFs into pages, for all calls of a process."""

    def __init__(self, *, worker: Path = WORKER, convert_s: float = CONVERT_S) -> None:
        self._starter = StarterProcess(worker)
        self._convert_s = convert_s
        self._cache = PageCache()
        self._semaphore = FairSemaphore(MAX_AT_ONCE, MAX_OF_ONE)
        self._present: Counter[str] = Counter()
        self._quarantine = Quarantine(QUARANTINE_S)
        # More than have a turn: one that was killed may take a moment to be gone.
        self._threads = ThreadPoolExecutor(2 * MAX_AT_ONCE, "pdf")

    async def aclose(self) -> None:
        """End all that is read, and the process that started it."""
        await asyncio.to_thread(self._starter.end)

    async def read(
        self, content: bytes, *, with_pictures: bool, owner: str, param: str
    ) -> Sequence[Page]:
        """Return the document's pages, from memory if the owner has had it read within a day.

        Raises InvalidFile for a document that cannot be read, Quarantined for one whose process
        was killed or hung before, RateLimited when too many wait, Overloaded if no process can be
        started.
        """
        if len(content) > MAX_PDF_BYTES:
            raise InvalidFile(f"The PDF is larger than {MAX_PDF_BYTES // 2**20} MB.", param=param)
        digest = (await asyncio.to_thread(sha256, content)).digest()
        # By owner, so that nobody learns from the time it takes what others have sent.
        key = (owner, with_pictures, digest)
        pages = self._cache.find(key)
        if pages is None:
            if key in self._quarantine:
                raise Quarantined(QUARANTINED, param=param)
            mode = "see" if with_pictures else "read"
            try:
                pages = await self._convert(content, mode, owner=owner, param=param)
            except ReaderFailed:
                self._quarantine.add(key)
                raise
            self._cache.keep(key, pages)
        return pages

    async def _convert(
        self, content: bytes, mode: str, *, owner: str, param: str
    ) -> Sequence[Page]:
        present = self._present
        if present.total() >= MAX_PRESENT or present[owner] >= MAX_PRESENT_OF_ONE:
            raise RateLimited(
                "Too many PDFs are being converted. Try again in a moment.",
                retry_after_s=spread_retry_after_s(),
            )
        present[owner] += 1
        clock = asyncio.get_running_loop().time
        began_at = ends_at = clock() + self._convert_s
        try:
            async with asyncio.timeout(self._convert_s), self._semaphore.slot(owner):
                began_at = clock()
                answer = await self._run(content, mode)
            found = await asyncio.to_thread(_decoder.decode, answer)
        except TimeoutError:
            message = f"The PDF could not be converted within {self._convert_s:g} s."
            # One that waited for its turn is not to blame.
            failed = ReaderFailed if ends_at - began_at > self._convert_s / 2 else InvalidFile
            raise failed(message, param=param) from None
        except msgspec.MsgspecError:
            raise ReaderFailed(UNREADABLE, param=param) from None
        finally:
            present[owner] -= 1
            if not present[owner]:
                del present[owner]
        if isinstance(found, str):
            raise InvalidFile(FAULTS.get(found, UNREADABLE), param=param)
        return found

    async def _run(self, content: bytes, mode: str) -> bytes:
        """Return what the process says. Whatever ends this, ends the process."""
        conversion = Conversion(self._starter, mode)
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._threads, conversion.run, content)
        finally:
            conversion.end()
