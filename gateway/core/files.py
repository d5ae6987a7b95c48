"""A file of a call on its way to a model: as the caller named it, and as the model gets it."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from gateway.core.json_types import JsonObject


class Attachment(msgspec.Struct, frozen=True, kw_only=True):
    """A file block that is not ready to be sent: its bytes are elsewhere, or a PDF's.

    file_id: of a stored file, empty for others. detail: how closely a picture is looked at, empty
    where nothing is said.

    row, column: of the message and of the block in it. param: the place of its bytes or address
    in the request. address: where the bytes are, empty when they came along as `data`, base64 or
    a data: URL. bound_tokens: what it counts for in the call's bound as it stands.
    """

    row: int
    column: int
    param: str
    filename: str
    declared: str
    address: str
    data: str
    bound_tokens: int
    file_id: str = ""
    detail: str = ""


class StoredContent(msgspec.Struct, frozen=True):
    """A stored file. kind: its media type, as its bytes showed when it was uploaded."""

    content: bytes
    filename: str
    kind: str


class ReadyFile(msgspec.Struct, frozen=True):
    """A file whose bytes were looked at. kind: its media type. detail: as of an Attachment."""

    content: bytes
    kind: str
    filename: str
    detail: str = ""


class Page(msgspec.Struct, frozen=True, array_like=True):
    """A page of a PDF: its text, and its picture, a JPEG in base64, empty where there is none."""

    text: str
    picture: str


class Placed(msgspec.Struct, frozen=True):
    """The blocks that take a file's place, in the format of callers.

    bound_tokens: a bound on what they are for a model; needs: abilities that they ask of it.
    pages: of a PDF, those that became pictures. is_converted: the file was a PDF, and is none now.
    """

    blocks: Sequence[JsonObject]
    bound_tokens: int
    needs: frozenset[str]
    pages: int = 0
    is_converted: bool = False
