"""Writes AWS's binary event stream, as the services do.

Reference: https://smithy.io/2.0/aws/amazon-eventstream.html
"""

from __future__ import annotations

import struct
from zlib import crc32

STRING = 7


def write_message(payload: bytes, headers: dict[str, str]) -> bytes:
    """Return one message whose headers are all text."""
    return write_raw(payload, b"".join(write_header(*pair) for pair in headers.items()))


def write_header(name: str, value: str) -> bytes:
    text = value.encode()
    return (
        struct.pack(">B", len(name)) + name.encode() + struct.pack(">BH", STRING, len(text)) + text
    )


def write_raw(payload: bytes, headers: bytes) -> bytes:
    """Return a message with right lengths and checksums, whatever its headers are."""
    prelude = struct.pack(">II", 16 + len(headers) + len(payload), len(headers))
    prelude += struct.pack(">I", crc32(prelude))
    message = prelude + headers + payload
    return message + struct.pack(">I", crc32(message))


def write_event(name: str, payload: bytes) -> bytes:
    headers = {":event-type": name, ":content-type": "application/json", ":message-type": "event"}
    return write_message(payload, headers)


def write_exception(name: str, payload: bytes) -> bytes:
    headers = {
        ":exception-type": name,
        ":content-type": "application/json",
        ":message-type": "exception",
    }
    return write_message(payload, headers)


def write_error(code: str, message: str) -> bytes:
    """Return an error that has no payload: what is wrong stands in its headers."""
    headers = {":error-code": code, ":error-message": message, ":message-type": "error"}
    return write_message(b"", headers)
