"""Stored files for calls: a block may have the ID of a file instead of its bytes."""

from __future__ import annotations

from uuid import UUID

from django.db import Error as DatabaseError

from gateway.core.errors import DatabaseUnavailable, InvalidFile
from gateway.core.fair_semaphore import FairSemaphore
from gateway.core.files import StoredContent
from gateway.services.files.reading import TooLarge, read_whole
from gateway.stores.queries import QueryThreads

# At once in a process, and of one workspace: each has a file in memory.
MAX_AT_ONCE = 8
MAX_OF_ONE = 4
THREADS = 4
MB = 1024 * 1024


class StoredFiles:
    """For all calls of a process."""

    def __init__(self) -> None:
        self._run = QueryThreads("stored-files", THREADS).run
        self._semaphore = FairSemaphore(MAX_AT_ONCE, MAX_OF_ONE)

    async def read(self, file_id: str, *, owner: str, param: str, most_bytes: int) -> StoredContent:
        """Return a file of the workspace `owner`. Raises FileNotFound, InvalidFile for one that is
        larger, StorageUnavailable, DatabaseUnavailable."""
        async with self._semaphore.slot(owner):
            try:
                found = await self._run(
                    read_whole, UUID(owner), file_id, max_bytes=most_bytes, param=param
                )
            except TooLarge:
                raise InvalidFile(
                    "The stored files of a call are too large: "
                    f"{most_bytes // MB} MB are left for this one.",
                    param=param,
                ) from None
            except DatabaseError as error:
                raise DatabaseUnavailable(detail=repr(error), retry_after_s=1) from error
        return StoredContent(found.content, found.filename, found.content_type)
