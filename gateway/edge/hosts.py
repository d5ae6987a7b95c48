"""Which names we answer to. A name that is not ours may be an attack on caches or DNS."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gateway.core.errors import InvalidHost

# As Django reads it, so that no host passes here and fails there.
HOST = re.compile(rb"([a-z0-9.-]+|\[[a-f0-9]*:[a-f0-9.:]+\])(?::[0-9]{1,5})?", re.IGNORECASE)
MAX_REMEMBERED = 256


class Hosts:
    """Judges Host headers; verdicts on good ones are remembered."""

    def __init__(self, allowed: Sequence[str]) -> None:
        self._allowed = tuple(pattern.lower() for pattern in allowed)
        self._good: set[bytes] = set()

    def check(self, value: bytes | None) -> None:
        """Raise InvalidHost unless the value is one host of ours, with or without a port."""
        if value in self._good:
            return
        if value is None:
            raise InvalidHost("The Host header is missing.")
        match = HOST.fullmatch(value)
        if match is None:
            raise InvalidHost("The Host header is malformed.")
        if not self._is_allowed(match[1].decode().lower().rstrip(".")):
            raise InvalidHost(
                "The Host header names a host that is not allowed. "
                "Operators add hosts to TOLLHOUSE_ALLOWED_HOSTS."
            )
        if len(self._good) < MAX_REMEMBERED:
            self._good.add(value)

    def _is_allowed(self, host: str) -> bool:
        return any(
            pattern in ("*", host)
            or (pattern.startswith(".") and (host.endswith(pattern) or host == pattern[1:]))
            for pattern in self._allowed
        )
