"""A stored file as Anthropic's API shows it: https://platform.claude.com/docs/en/api/beta/files"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Literal

from msgspec import Meta, Struct

from gateway.api.schemas.files import FileId
from gateway.models import StoredFile

UNKNOWN_TYPE = "application/octet-stream"
PAGE = "page_"


class AnthropicFile(Struct, kw_only=True):
    type: Literal["file"] = "file"
    id: FileId
    filename: str
    mime_type: Annotated[str, Meta(description="As the bytes of the file show it.")]
    size_bytes: Annotated[int, Meta(ge=0)]
    created_at: datetime
    expires_at: datetime | None
    downloadable: bool = True


class AnthropicFileList(Struct, kw_only=True):
    data: list[AnthropicFile]
    has_more: bool
    first_id: FileId | None
    last_id: FileId | None
    next_page: str | None


class AnthropicDeletedFile(Struct, kw_only=True):
    id: FileId
    type: Literal["file_deleted"] = "file_deleted"


def write_anthropic_file(file: StoredFile) -> AnthropicFile:
    return AnthropicFile(
        id=file.public_id,
        filename=file.filename,
        mime_type=file.content_type or UNKNOWN_TYPE,
        size_bytes=file.size_bytes,
        created_at=file.created_at,
        expires_at=file.expires_at,
    )


def write_anthropic_files(
    files: Sequence[StoredFile], *, has_more: bool, goes_on: bool
) -> AnthropicFileList:
    """goes_on: there are older ones, for the next page."""
    written = [write_anthropic_file(file) for file in files]
    first, last = (written[0].id, written[-1].id) if written else (None, None)
    return AnthropicFileList(
        data=written,
        has_more=has_more,
        first_id=first,
        last_id=last,
        next_page=f"{PAGE}{last}" if goes_on and last else None,
    )
