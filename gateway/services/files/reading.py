"""Reading files back."""

from __future__ import annotations

import logging
from typing import NamedTuple
from uuid import UUID

from gateway.core.errors import FileNotFound, InvalidFile, StorageUnavailable
from gateway.file_storage.encryption import Damaged, DecryptingReader
from gateway.file_storage.stores import Missing
from gateway.models import StoredFile
from gateway.selectors.files import find_file
from gateway.services.files.places import data_key_of, files_store, storage_of

log = logging.getLogger(__name__)

LOST = "The content of the file is not available."
MB = 1024 * 1024


class TooLarge(InvalidFile):
    """The file has more bytes than were asked for."""


class FileContent(NamedTuple):
    content: bytes
    filename: str
    content_type: str


def open_file(file: StoredFile) -> DecryptingReader:
    """Return what reads a file, to be closed. Raises StorageUnavailable."""
    key = data_key_of(storage_of(file.workspace_id))
    try:
        source = files_store().open(file.storage_name)
    except Missing:
        log.error("The bytes of the file %s are missing.", file.public_id)
        raise StorageUnavailable(LOST) from None
    try:
        return DecryptingReader(source, key, file.pk.bytes, file.size_bytes)
    except Damaged as error:
        source.close()
        raise damaged(file, error) from None


def damaged(file: StoredFile, error: Damaged) -> StorageUnavailable:
    """Return the refusal for bytes that are not those that were written, and log it."""
    log.error("The file %s is damaged. %s", file.public_id, error)
    return StorageUnavailable(LOST)


def read_whole(
    workspace_id: UUID, file_id: str, *, max_bytes: int, param: str | None = None
) -> FileContent:
    """Return a file of a workspace by the ID that callers know.

    Raises FileNotFound, TooLarge (an InvalidFile), StorageUnavailable.
    """
    file = find_file(workspace_id, file_id)
    if file is None:
        raise FileNotFound(f"The file {file_id[:64]} does not exist.", param=param)
    if file.size_bytes > max_bytes:
        raise TooLarge(f"The file is larger than {max_bytes // MB} MB.", param=param)
    with open_file(file) as reader:
        try:
            content = reader.read(file.size_bytes)
        except Damaged as error:
            raise damaged(file, error) from None
    return FileContent(content, file.filename, file.content_type)
