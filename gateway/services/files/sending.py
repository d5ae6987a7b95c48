"""The content of a file as an answer, for the API and for pages. It is sent piece by piece."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from urllib.parse import quote

from django.http import StreamingHttpResponse

from gateway.file_storage.encryption import Damaged, DecryptingReader
from gateway.models import StoredFile
from gateway.services.files.reading import damaged, open_file

PIECE_BYTES = 256 * 1024


class Pieces:
    """The pieces of a file. The answer ends early where the bytes turn out to be damaged."""

    def __init__(self, file: StoredFile, reader: DecryptingReader, first: bytes) -> None:
        self._file = file
        self._reader = reader
        self._first = first

    async def __aiter__(self) -> AsyncIterator[bytes]:
        piece = self._first
        try:
            while piece:
                yield piece
                piece = await asyncio.to_thread(self._reader.read, PIECE_BYTES)
        except Damaged as error:
            raise damaged(self._file, error) from None

    def close(self) -> None:
        """Django calls it at the end of the answer, whether or not anything was sent of it."""
        self._reader.close()


def content_response(file: StoredFile) -> StreamingHttpResponse:
    """Return the answer. Raises StorageUnavailable."""
    reader = open_file(file)
    # The first piece shows whether the bytes are those that were written.
    try:
        first = reader.read(PIECE_BYTES)
    except Damaged as error:
        reader.close()
        raise damaged(file, error) from None
    response = StreamingHttpResponse(
        Pieces(file, reader, first), content_type="application/octet-stream"
    )
    response["content-length"] = str(file.size_bytes)
    response["content-disposition"] = disposition(file.filename)
    response["x-content-type-options"] = "nosniff"
    return response


def disposition(filename: str) -> str:
    """Return the header that has a file saved under its name (RFC 6266)."""
    plain = "".join(char if " " <= char <= "~" and char not in '"\\%' else "_" for char in filename)
    header = f'attachment; filename="{plain}"'
    return header if plain == filename else f"{header}; filename*=UTF-8''{quote(filename, safe='')}"
