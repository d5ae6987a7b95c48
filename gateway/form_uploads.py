"""How Django keeps a form with a file in it until a page has looked at it.

Beyond 2.5 MB it would write the body to a temporary file, and the file of the form to another, as
they came. Here both are encrypted (gateway.file_storage.temporary): what a workspace stores is
never on a disk in plain text.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import IO, Any

from django.conf import settings
from django.core.exceptions import RequestAborted
from django.core.files.uploadedfile import UploadedFile
from django.core.files.uploadhandler import FileUploadHandler
from django.core.handlers.asgi import ASGIHandler

from gateway.file_storage.temporary import TemporaryBytes


class EncryptingHandler(ASGIHandler):
    """Django's ASGI application, for bodies of any length that its addresses take."""

    async def read_body(self, receive: Callable[[], Awaitable[Any]]) -> IO[bytes]:
        body, has_more = TemporaryBytes(settings.FILE_UPLOAD_MAX_MEMORY_SIZE), True
        try:
            while has_more:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise RequestAborted
                body.write(message.get("body", b""))
                has_more = bool(message.get("more_body"))
            return body.open()
        except BaseException:
            body.close()
            raise


class EncryptedUploads(FileUploadHandler):
    """Takes the files of a form."""

    def new_file(self, *args: Any, **kwargs: Any) -> None:
        super().new_file(*args, **kwargs)
        self._content = TemporaryBytes(settings.FILE_UPLOAD_MAX_MEMORY_SIZE)

    def receive_data_chunk(self, raw_data: bytes, start: int) -> bytes | None:
        self._content.write(raw_data)
        return None

    def file_complete(self, file_size: int) -> UploadedFile[bytes]:
        return UploadedFile(
            file=self._content.open(),
            name=self.file_name,
            content_type=self.content_type,
            size=file_size,
            charset=self.charset,
            content_type_extra=self.content_type_extra,
        )

    def upload_interrupted(self) -> None:
        self._content.close()
