"""The head of an HTTP request, as admission sees it. No framework's type."""

from __future__ import annotations

import re
from dataclasses import dataclass

MAX_CLIENT_ID_BYTES = 128
CLIENT_ID = re.compile(r"[A-Za-z0-9._:-]+")


@dataclass(frozen=True, slots=True)
class RequestHead:
    """headers: names in lower case, as they came, repeated ones included. peer: the address of
    the socket, empty when there is none. started_ns: perf_counter_ns at arrival."""

    request_id: str
    headers: tuple[tuple[bytes, bytes], ...]
    peer: str
    started_ns: int

    def values(self, name: bytes) -> list[bytes]:
        return [value for key, value in self.headers if key == name]

    def first(self, name: bytes) -> bytes:
        for key, value in self.headers:
            if key == name:
                return value
        return b""

    def client_id(self) -> str:
        """Return the id the caller gave the request, for tracking, or the empty string.

        Kept only when it is at most 128 of A-Z a-z 0-9 . _ : -
        """
        value = self.first(b"x-client-request-id") or self.first(b"x-request-id")
        if not value or len(value) > MAX_CLIENT_ID_BYTES:
            return ""
        text = value.decode("latin-1")
        return text if CLIENT_ID.fullmatch(text) else ""
