"""What PDFs were converted into, kept in memory for a day: never on a disk, for it is what callers
said, and that is stored nowhere unless a workspace turns it on."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence

from gateway.core.files import Page

KEPT_S = 24 * 60 * 60.0
KEPT_BYTES = 64 * 1024 * 1024
BYTES_OF_A_PAGE = 200  # beside its contents


class PageCache:
    """The pages of documents, the least recently wanted forgotten first. For one thread."""

    def __init__(
        self, *, most_bytes: int = KEPT_BYTES, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._most_bytes = most_bytes
        self._clock = clock
        self._bytes = 0
        self._kept: OrderedDict[Hashable, tuple[float, int, Sequence[Page]]] = OrderedDict()

    def find(self, key: Hashable) -> Sequence[Page] | None:
        """Return what is kept under the key and not too old."""
        if key not in self._kept:
            return None
        kept_at, _, pages = self._kept[key]
        if self._clock() - kept_at > KEPT_S:
            self._forget(key)
            return None
        self._kept.move_to_end(key)
        return pages

    def keep(self, key: Hashable, pages: Sequence[Page]) -> None:
        """Keep the pages, unless they are more than all that may be kept."""
        size = sum(BYTES_OF_A_PAGE + 4 * len(page.text) + len(page.picture) for page in pages)
        if size > self._most_bytes:
            return
        self._forget(key)
        self._kept[key] = (self._clock(), size, pages)
        self._bytes += size
        while self._bytes > self._most_bytes:
            self._forget(next(iter(self._kept)))

    def _forget(self, key: Hashable) -> None:
        if key in self._kept:
            _, size, _ = self._kept.pop(key)
            self._bytes -= size
