"""What is looked at while a file arrives: its type, its lines, and what the scanner says of it."""

from __future__ import annotations

from gateway.core.errors import RequestError
from gateway.media.upload_checks import JSONL, LineCheck, TypeCheck
from gateway.services.files.scanning import open_scan

PURPOSE, BATCH = "purpose", "batch"
MAX_KIND_CHARS = 200


class ContentChecks:
    """The checks of one file, fed with all of its bytes. To be closed."""

    def __init__(self) -> None:
        self._type = TypeCheck()
        self._lines = LineCheck()
        self._scan = open_scan()

    def feed(self, piece: bytes, purpose: str = "") -> None:
        """purpose: empty if it comes behind the file. Of a file with another one than a batch the
        lines do not matter, and none is kept.

        Raises FileRejected, PayloadTooLarge, StorageUnavailable, and RequestError as soon as a file
        that is to be JSONL has a line that is not.
        """
        self._type.feed(piece)
        if purpose in ("", BATCH):
            self._lines.feed(piece)
        if purpose == BATCH:
            self._lines.refuse_faults()
        if self._scan is not None:
            self._scan.feed(piece)

    def finish(self, purpose: str, declared: str, filename: str) -> str:
        """Return the media type of a file that may have this purpose. Raises InvalidFile,
        UnsupportedFileType, RequestError, and as feed does."""
        if purpose == BATCH:
            self._lines.refuse_faults()
        found = self._type.finish(declared[:MAX_KIND_CHARS], filename)
        if purpose == BATCH:
            self._lines.finish()
            found = JSONL
        elif purpose == "vision" and not found.startswith("image/"):
            raise RequestError("The purpose vision is for images.", param=PURPOSE)
        if self._scan is not None:
            self._scan.finish()
        return found

    def close(self) -> None:
        if self._scan is not None:
            self._scan.close()
