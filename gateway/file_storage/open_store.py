"""Which of the storages this installation keeps its files in."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from django.conf import settings

from gateway.file_storage.stores import FileStore


def open_store() -> FileStore:
    """Return where this installation keeps its files."""
    return _open_store(settings.FILES_DIR, settings.FILES_S3_BUCKET)


@lru_cache(maxsize=4)
def _open_store(folder: Path, bucket: str) -> FileStore:
    if bucket:
        # Its libraries are an extra.
        from gateway.file_storage.s3 import S3Store

        return S3Store()
    from gateway.file_storage.disk import DiskStore

    return DiskStore(folder)
