"""Which folder or bucket the files of this installation are in, and whether this is it.

The database has a mark, and so has the folder or bucket. A host whose folder is another one, or is
not mounted, would lose what is written there and miss what others wrote: it is refused. So is a
folder of another installation, whose files would be taken for orphans.
"""

from __future__ import annotations

import logging
import secrets
from uuid import UUID

from gateway.core.errors import StorageUnavailable
from gateway.file_storage.open_store import open_store
from gateway.file_storage.stores import AWAY, FileStore
from gateway.models import FileStorageMark, StoredFile, WorkspaceStorage
from gateway.services.credential_encryption import (
    DecryptionFailed,
    data_key_id,
    decrypt,
    encrypt,
)
from gateway.services.files.homes import homes_elsewhere

log = logging.getLogger(__name__)

NAME = "files"
DATA_KEY_BYTES = 32
OTHER_PLACE = (
    "%s is not where this installation keeps its files: its identifier is %s. With several hosts, "
    "set TOLLHOUSE_FILES_DIR to a folder that all of them share, or TOLLHOUSE_FILES_S3_BUCKET. "
    "If the folder is of this installation, delete the file tollhouse-storage there."
)
_found_right: set[str] = set()


def files_store() -> FileStore:
    """Return where files are. Raises StorageUnavailable where this is not the place."""
    store = open_store()
    if store.place not in _found_right:
        _check(store)
        _found_right.add(store.place)
    return store


def _check(store: FileStore) -> None:
    """Raise StorageUnavailable for another place. The first use of a place marks it."""
    mark, row = store.read_mark(), FileStorageMark.objects.filter(pk=NAME).first()
    is_first = False
    if row is None and not mark:
        fresh = {"mark": secrets.token_hex(16)}
        row, is_first = FileStorageMark.objects.get_or_create(pk=NAME, defaults=fresh)
    if row is not None and not mark:
        # Where nothing was ever stored, nothing can be missing, unless others write elsewhere.
        if is_first or not (StoredFile.objects.exists() or homes_elsewhere()):
            store.write_mark(row.mark)
        mark = store.read_mark()
    if row is None or row.mark != mark:
        log.error(OTHER_PLACE, store.place, "another one" if mark else "missing")
        raise StorageUnavailable(AWAY, retry_after_s=60)


def forget_checks() -> None:
    """Check again before the next use."""
    _found_right.clear()


def storage_of(workspace_id: UUID) -> WorkspaceStorage:
    """Return what a workspace stores. It gets its data key on first use."""
    row = WorkspaceStorage.objects.filter(pk=workspace_id).first()
    if row is not None:
        return row
    key = encrypt(secrets.token_bytes(DATA_KEY_BYTES).hex(), data_key_id(workspace_id))
    row, _ = WorkspaceStorage.objects.get_or_create(pk=workspace_id, defaults={"data_key": key})
    return row


def data_key_of(storage: WorkspaceStorage) -> bytes:
    """Return the key that a workspace's files are encrypted with. Raises StorageUnavailable where
    the installation's key that encrypts it is gone."""
    try:
        key = decrypt(bytes(storage.data_key), data_key_id(storage.workspace_id))
    except DecryptionFailed as error:
        raise StorageUnavailable(AWAY, detail=f"the data key: {error}") from None
    return bytes.fromhex(key)
