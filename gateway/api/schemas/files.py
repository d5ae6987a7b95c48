"""Stored files as the API shows them, and the form of an upload."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, field

from gateway.models import StoredFile

FileId = Annotated[str, Meta(pattern="^file_[0-9A-Za-z]{24}$")]
MIN_EXPIRY_S, MAX_EXPIRY_S = 3600, 2_592_000


class FileObject(Struct, kw_only=True):
    """A stored file."""

    id: FileId
    object: Literal["file"] = "file"
    bytes: Annotated[int, Meta(ge=0)]
    created_at: Annotated[int, Meta(description="Seconds since 1970.")]
    expires_at: int | None
    filename: str
    purpose: str
    status: Literal["processed"] = "processed"
    content_type: Annotated[str, Meta(description="As the bytes of the file show it.")]


class FileList(Struct, kw_only=True):
    object: Literal["list"] = "list"
    data: list[FileObject]
    first_id: FileId | None
    last_id: FileId | None
    has_more: bool


class DeletedFile(Struct, kw_only=True):
    id: FileId
    object: Literal["file"] = "file"
    deleted: bool = True


class FileUpload(Struct, kw_only=True):
    """The form of an upload. The file is read as it arrives, and may come before its purpose."""

    file: Annotated[str, Meta(extra_json_schema={"format": "binary"})]
    purpose: Annotated[
        Literal["assistants", "batch", "user_data", "vision"],
        Meta(description="batch: JSONL, checked line by line. vision: an image."),
    ]
    anchor: Annotated[
        Literal["created_at"] | UnsetType,
        Meta(description="The time from which the seconds count."),
    ] = field(default=UNSET, name="expires_after[anchor]")
    seconds: Annotated[
        Annotated[int, Meta(ge=MIN_EXPIRY_S, le=MAX_EXPIRY_S)] | UnsetType,
        Meta(description="When the file is deleted. Default: never."),
    ] = field(default=UNSET, name="expires_after[seconds]")
    expires_in_seconds: Annotated[
        Annotated[int, Meta(ge=MIN_EXPIRY_S, le=MAX_EXPIRY_S)] | UnsetType,
        Meta(description="The same, from Anthropic's SDKs. Of both, the smaller one applies."),
    ] = UNSET


def write_file_object(file: StoredFile) -> FileObject:
    expires = file.expires_at
    return FileObject(
        id=file.public_id,
        bytes=file.size_bytes,
        created_at=int(file.created_at.timestamp()),
        expires_at=None if expires is None else int(expires.timestamp()),
        filename=file.filename,
        purpose=file.purpose,
        content_type=file.content_type,
    )


def write_file_list(files: list[FileObject], *, has_more: bool) -> FileList:
    return FileList(
        data=files,
        first_id=files[0].id if files else None,
        last_id=files[-1].id if files else None,
        has_more=has_more,
    )
