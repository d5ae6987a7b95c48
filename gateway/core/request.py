"""The head of an HTTP request, as admission sees it. No framework's type."""

from __future__ import annotations

import re
import uuid
from collections.abc import Sequence
from typing import Protocol

import msgspec

MAX_CLIENT_ID_BYTES = 128
UUID_CHARS = 36
# W3C Trace Context: version, trace, span and flags.
TRACEPARENT = re.compile(rb"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")
CLIENT_ID = re.compile(r"[A-Za-z0-9._:-]+")
# The ASGI extension that is a weak reference to the server's side of the request, a Reply.
WRITE_NOW = "tollhouse.write_now"


class Hold(Protocol):
    """What a body takes of the memory for bodies. is_refused: there was no room for it."""

    is_refused: bool

    def read(self) -> None:
        """Count what reading the body makes of it. Raises Overloaded."""


class Reply(Protocol):
    """The server's side of a request, which lives as long as its `send` (gateway.edge.reply)."""

    hold: Hold | None

    def write_now(self, body: bytes) -> bool:
        """Write a piece of a body if that takes no waiting. Returns whether it was written."""

    def write_answer(
        self, headers: Sequence[tuple[bytes, bytes]], body: bytes, more_lines: bytes = b""
    ) -> bool:
        """Write an answer of status 200, all of it, if that takes no waiting. Returns whether it
        was written. headers: names in lower case, the length of the body among them, nothing of
        the connection. more_lines: of the head, as they are written, each with its end."""

    def claim_body(self, owner: str) -> None:
        """Take note of the key whose body it is. Raises Overloaded."""

    def take_body(self) -> bytes | None:
        """Return a short body that has come whole; None for any other, which `receive` has."""

    def give_back(self, size_bytes: int) -> None:
        """Give back the memory of a piece of a body that is handed on as it arrives."""

    def release_body(self) -> None:
        """Give back what the body takes of the memory for bodies."""


class RequestHead(msgspec.Struct, frozen=True, kw_only=True):
    """The head of a request."""

    request_id: str = ""
    # Names in lower case, as they came, repeated ones included.
    headers: Sequence[tuple[bytes, bytes]]
    # The address of the socket, empty when there is none.
    peer: str
    # time.perf_counter_ns at arrival.
    started_ns: int = 0
    # One value of each header, the last where it is repeated.
    fields: dict[bytes, bytes]
    # The compatibility profile that the address names, empty when it names none.
    mount_profile: str = ""

    @property
    def has_no_repeats(self) -> bool:
        """True when every header stands there once."""
        return len(self.headers) == len(self.fields)

    def values(self, name: bytes) -> list[bytes]:
        if name not in self.fields:
            return []
        return [value for key, value in self.headers if key == name]

    def first(self, name: bytes) -> bytes:
        return self.fields.get(name, b"")

    @property
    def disables_fallback(self) -> bool:
        """True when no other model may take the place of the one that is asked for."""
        return self.first(b"x-disable-fallback").strip().lower() == b"true"

    def wanted_id(self) -> str:
        """Return the UUID that the caller wants the call to be known by, or the empty string.

        Only X-Request-Id asks for that; whoever also has an id for tracking keeps that one.
        """
        value = self.fields.get(b"x-request-id")
        if value is None or len(value) != UUID_CHARS or b"x-client-request-id" in self.fields:
            return ""
        try:
            wanted = uuid.UUID(value.decode("latin-1"))
        except ValueError:
            return ""
        return str(wanted) if wanted.version else ""

    def client_id(self) -> str:
        """Return the id the caller gave the request, for tracking, or the empty string.

        Kept only when it is at most 128 of A-Z a-z 0-9 . _ : -
        """
        fields = self.fields
        value = fields.get(b"x-client-request-id") or fields.get(b"x-request-id")
        if not value or len(value) > MAX_CLIENT_ID_BYTES:
            return ""
        text = value.decode("latin-1")
        return text if CLIENT_ID.fullmatch(text) else ""

    def traceparent(self) -> str:
        """Return the caller's span, or the empty string where none is named, or several are."""
        values = self.values(b"traceparent")
        return values[0].decode() if len(values) == 1 and TRACEPARENT.fullmatch(values[0]) else ""
