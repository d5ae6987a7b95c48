"""How many bytes of a body a request may have, by its method and path.

Calls to models take as much as the installation says. Everything else takes a form or a JSON
object at the most, and most addresses take no body at all: what arrives there is dropped.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from gateway.core.mounts import ANY_MOUNT
from gateway.core.profiles import ALL
from gateway.endpoints.registry import body_paths

CALL_PATHS = "|".join(map(re.escape, body_paths()))
FILES = re.compile(f"/{ANY_MOUNT}/files")
CALLS = re.compile(f"/{ANY_MOUNT}/(?:{CALL_PATHS})")
# Uploads of files. A body that may be so long is handed on as it arrives, and nowhere kept whole;
# what its workspace may store is not known here (gateway.api.uploads).
STREAMED_BYTES = 65 * 1024**3
# No body is longer, so this is none.
UNLIMITED = 1 << 62
READS = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})

FormBytes = Callable[[str, str], int]


class BodyLimits:
    """call_bytes: the installation's limit; a profile may have a higher one, which the call itself
    is held to. form_bytes: of a method and a path, how long a body is read there."""

    def __init__(self, call_bytes: int, form_bytes: FormBytes) -> None:
        self._call_bytes = max(call_bytes, *(profile.body_limit_bytes or 0 for profile in ALL))
        self._form_bytes = form_bytes

    def find(self, method: str, path: str) -> int:
        """Return the most bytes that a body may have there; 0 where none is read."""
        if method in READS:
            return 0
        if CALLS.fullmatch(path):
            return self._call_bytes if method == "POST" else 0
        if FILES.fullmatch(path):
            return STREAMED_BYTES if method == "POST" else 0
        return self._form_bytes(method, path)
