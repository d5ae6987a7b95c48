"""What is left of files that are not there any more, and files whose time is over."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from gateway.core.errors import StorageUnavailable
from gateway.file_storage.open_store import open_store
from gateway.file_storage.stores import FileStore, StoredName
from gateway.models import FileStorageMark, StoredFile
from gateway.services.files.deleting import delete_bytes, delete_file
from gateway.services.files.places import files_store
from gateway.services.files.quota import release
from gateway.services.files.writing import KEYS_KEPT_FOR, TOUCH_EVERY_S

log = logging.getLogger(__name__)

State = StoredFile.State
BATCH = 500
# An upload that has said nothing for so long is dead.
DEAD_AFTER = timedelta(seconds=5 * TOUCH_EVERY_S)
# Bytes without a row: never of an upload that runs, whose row is there before them.
ORPHAN_AFTER = timedelta(hours=1)
# So long a deleted file is known to have been one.
ROWS_KEPT_FOR = timedelta(days=30)


@dataclass(slots=True)
class Cleaned:
    """How many. unfinished: uploads that never came to their end. removed: files whose bytes were
    deleted. orphans: bytes that no row knew."""

    expired: int = 0
    unfinished: int = 0
    removed: int = 0
    orphans: int = 0
    forgotten: int = 0


def clean_files(
    *,
    now: datetime | None = None,
    dead_after: timedelta = DEAD_AFTER,
    orphan_after: timedelta | None = None,
) -> Cleaned:
    """Delete them, a batch at a time. Safe to stop and to repeat.

    orphan_after: how old bytes without a row have to be; None: they are not looked for, which
    means to list everything that is stored. Raises StorageUnavailable.
    """
    cleaned, now = Cleaned(), now or timezone.now()
    if not FileStorageMark.objects.exists():
        return cleaned  # nothing was ever stored
    store = files_store()
    _expire(cleaned, now)
    _give_up(cleaned, now - dead_after)
    _remove_bytes(cleaned)
    _forget(cleaned, now)
    if orphan_after is not None:
        _remove_orphans(store, cleaned, now - orphan_after)
    return cleaned


def _expire(cleaned: Cleaned, now: datetime) -> None:
    rows = StoredFile.objects.filter(state=State.READY, expires_at__lte=now).order_by("expires_at")
    while found := list(rows[:BATCH]):
        for file in found:
            cleaned.expired += delete_file(file, state=State.EXPIRED)


def _give_up(cleaned: Cleaned, before: datetime) -> None:
    """Have uploads that are dead be deleted. One that lives after all finds that out and ends."""
    rows = StoredFile.objects.filter(state=State.UPLOADING, touched_at__lt=before)
    for file in rows.order_by("touched_at").iterator(BATCH):
        with transaction.atomic():
            if rows.filter(pk=file.pk).update(state=State.DELETED, idempotency_key=""):
                file.refresh_from_db(fields=["reserved_bytes"])
                release(file)
                cleaned.unfinished += 1


def _remove_bytes(cleaned: Cleaned) -> None:
    gone = StoredFile.objects.filter(state__in=(State.DELETED, State.EXPIRED))
    for file in gone.exclude(storage_name="").iterator(BATCH):
        delete_bytes(file)
        cleaned.removed += 1


def _forget(cleaned: Cleaned, now: datetime) -> None:
    """Delete rows that nobody asks for any more, and idempotency keys whose day is over."""
    never_was_one = Q(sha256="")
    is_old = Q(touched_at__lt=now - ROWS_KEPT_FOR)
    gone = StoredFile.objects.filter(
        never_was_one | is_old, state__in=(State.DELETED, State.EXPIRED), storage_name=""
    )
    while ids := list(gone.values_list("pk", flat=True)[:BATCH]):
        cleaned.forgotten += StoredFile.objects.filter(pk__in=ids).delete()[0]
    used = StoredFile.objects.exclude(idempotency_key="").exclude(state=State.UPLOADING)
    used.filter(touched_at__lt=now - KEYS_KEPT_FOR).update(idempotency_key="")


def _remove_orphans(store: FileStore, cleaned: Cleaned, before: datetime) -> None:
    old = (each for each in store.names() if each.modified_at < before)
    while batch := list(islice(old, BATCH)):
        cleaned.orphans += _remove_unknown(store, batch)
    cleaned.orphans += store.delete_unfinished(before)


def _remove_unknown(store: FileStore, batch: Iterable[StoredName]) -> int:
    names = {each.name for each in batch}
    rows = StoredFile.objects.filter(storage_name__in=names)
    unknown = names.difference(rows.values_list("storage_name", flat=True))
    for name in unknown:
        store.delete(name)
    return len(unknown)


def clean_in_background(*, looks_for_orphans: bool) -> None:
    """Clean up; where the storage is away, the next run does."""
    try:
        cleaned = clean_files(orphan_after=ORPHAN_AFTER if looks_for_orphans else None)
    except StorageUnavailable as error:
        log.warning("%s was not cleaned up: %s", open_store().place, error.detail or error.message)
        return
    if cleaned.unfinished or cleaned.orphans:
        log.info(
            "Unfinished uploads deleted: %d. Orphans: %d.", cleaned.unfinished, cleaned.orphans
        )
