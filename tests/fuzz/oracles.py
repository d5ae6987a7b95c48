"""Readers written for nothing but being right: the standard library, and the standard's words."""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Iterator
from contextlib import suppress
from ipaddress import IPv4Address, IPv6Address
from math import isinf
from socket import AF_INET6, inet_aton, inet_pton
from typing import Any

from botocore.eventstream import EventStreamBuffer, ParserError

from gateway.http.strict_json import MAX_DEPTH, MAX_ITEMS, MAX_NAMES

BOM = b"\xef\xbb\xbf"
NAMED_BY = {"event": ":event-type", "exception": ":exception-type", "error": ":error-code"}
LINE_END = re.compile(rb"\r\n|\r|\n")


def find_ip_address(host: str) -> IPv4Address | IPv6Address | None:
    """Return what the C library, which reads octal, hexadecimal and short forms, would connect to
    without asking anybody."""
    with suppress(OSError):
        return IPv4Address(inet_aton(host))
    with suppress(OSError):
        return IPv6Address(inet_pton(AF_INET6, host))
    return None


def read_json(body: bytes) -> Any:
    """Return the one value that everybody reads in a body.

    Raises ValueError for what RFC 8259 does not allow and for what I-JSON (RFC 7493) warns of:
    names given twice, halves of surrogate pairs, numbers beyond a double. Raises it too beyond
    our limits of depth, of names and of items in lists.
    """
    names = items = 0

    def read_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal names
        names += len(pairs)
        if names > MAX_NAMES:
            raise ValueError("too many names")
        found = dict(pairs)
        if len(found) < len(pairs):
            raise ValueError("a name given twice")
        return found

    try:
        value = json.loads(
            body.decode(),
            object_pairs_hook=read_pairs,
            parse_constant=refuse_constant,
            parse_float=read_float,
        )
    except RecursionError:
        raise ValueError("too deep") from None
    for part, depth in walk(value):
        if depth > MAX_DEPTH:
            raise ValueError("too deep")
        if isinstance(part, str):
            part.encode()  # UnicodeEncodeError, a ValueError, for half a surrogate pair
        elif isinstance(part, list):
            items += len(part)
    if items > MAX_ITEMS:
        raise ValueError("too many items")
    return value


def refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def read_float(text: str) -> float:
    number = float(text)
    if isinf(number):
        raise ValueError("a number beyond a double")
    return number


def walk(value: Any) -> Iterator[tuple[Any, int]]:
    """Yield every name, string, object and list with the number of brackets around it, those of
    its own included."""
    pending = [(value, 0)]
    while pending:
        part, depth = pending.pop()
        if isinstance(part, str):
            yield part, depth
        elif isinstance(part, dict | list):
            yield part, depth + 1
            if isinstance(part, dict):
                yield from ((name, depth + 1) for name in part)
            inside = part.values() if isinstance(part, dict) else part
            pending.extend((item, depth + 1) for item in inside)


def read_events(stream: bytes) -> list[list[bytes]]:
    """Return the data lines of each event of a stream (WHATWG HTML, section 9.2.6).

    The end of the stream counts as the end of a line and as a blank line: the one thing in which
    we are more generous than the standard.
    """
    events: list[list[bytes]] = []
    data: list[bytes] = []
    for line in [*LINE_END.split(stream.removeprefix(BOM)), b""]:
        if line == b"":
            if data:
                events.append(data)
            data = []
            continue
        field, _, value = line.partition(b":")
        if field == b"data":
            data.append(value.removeprefix(b" "))
    return events


def longest_line(stream: bytes) -> int:
    return max(map(len, LINE_END.split(stream)))


def read_messages(stream: bytes) -> list[bytes] | None:
    """Return what botocore reads of an event stream, each message as the object with one member
    that it stands for; None where it refuses a message, or knows no type for it."""
    buffer, found = EventStreamBuffer(), []
    buffer.add_data(stream)
    try:
        for message in buffer:
            headers = message.headers
            kind = headers[":message-type"]
            name = json.dumps(headers[NAMED_BY[kind]], ensure_ascii=False, separators=(",", ":"))
            if kind == "error":
                return None
            found.append(b"{%b:%b}" % (name.encode(), message.payload or b"null"))
    except (ParserError, UnicodeDecodeError, LookupError, TypeError, ValueError, struct.error):
        return None
    return found
