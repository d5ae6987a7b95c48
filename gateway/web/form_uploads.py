"""How Django keeps a form with a file in it until a page has looked at it.

Beyond 2.5 MB it would write the body to a temporary file, and the file of the form to another, as
they came. Here both are encrypted (gateway.file_storage.temporary): what a workspace stores is
never on a disk in plain text.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import IO, Any

from django.conf import settings
from django.core.exceptions import RequestAborted, SuspiciousOperation
from django.core.files.uploadedfile import UploadedFile
from django.core.files.uploadhandler import FileUploadHandler
from django.core.handlers.asgi import ASGIHandler

from gateway.file_storage.temporary import TemporaryBytes
from gateway.web.form_routes import refusal_page

log = logging.getLogger(__name__)

NO_ROOM = "The disk of the server is full. Nothing was saved. Try again later."


class NoRoom(SuspiciousOperation):
    """A temporary file cannot be written. Of a kind that Django hands to the page for bad requests
    (dashboard.error_pages.views), also where no view has been asked yet."""

    def __init__(self, error: OSError) -> None:
        super().__init__(NO_ROOM)
        log.warning("An upload cannot be kept: %s", error)


class EncryptingHandler(ASGIHandler):
    """Django's ASGI application, for bodies of any length that its addresses take."""

    async def handle(self, scope: Any, receive: Any, send: Any) -> None:
        try:
            await super().handle(scope, receive, send)
        except NoRoom:
            headers, body = refusal_page(503, NO_ROOM)
            length = (b"content-length", b"%d" % len(body))
            start = {"type": "http.response.start", "status": 503, "headers": [*headers, length]}
            await send(start)
            await send({"type": "http.response.body", "body": body})

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
        except OSError as error:
            body.close()
            raise NoRoom(error) from error
        except BaseException:
            body.close()
            raise


class EncryptedUploads(FileUploadHandler):
    """Takes the files of a form."""

    def new_file(self, *args: Any, **kwargs: Any) -> None:
        super().new_file(*args, **kwargs)
        self._content = TemporaryBytes(settings.FILE_UPLOAD_MAX_MEMORY_SIZE)

    def receive_data_chunk(self, raw_data: bytes, start: int) -> bytes | None:
        try:
            self._content.write(raw_data)
        except OSError as error:
            raise NoRoom(error) from error
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
