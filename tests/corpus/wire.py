"""Bytes in, answers out: a socket that sends exactly what it is told."""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from tests.flows.caller import Answer
from tests.support.require import do_without

READ_S = 60.0
RESET_ON_CLOSE = struct.pack("ii", 1, 0)
_numbers = count(1)


def fresh_address() -> str:
    """Return a loopback address that nobody has called from yet: limits are kept per address."""
    number = next(_numbers)
    return f"127.{1 + number // 62_500}.{number // 250 % 250}.{1 + number % 250}"


@dataclass
class Talk:
    """What came back. is_closed: the server ended the connection."""

    answers: list[Answer] = field(default_factory=list)
    is_closed: bool = False
    rest: bytes = b""

    @property
    def answer(self) -> Answer:
        """Return the only answer. Raises AssertionError unless there is exactly one."""
        assert len(self.answers) == 1, (self.answers, self.is_closed, self.rest)
        return self.answers[0]


class Line:
    """One connection."""

    def __init__(self, port: int, source: str | None = None) -> None:
        try:
            self.socket = socket.create_connection(
                ("127.0.0.1", port), timeout=READ_S, source_address=(source or fresh_address(), 0)
            )
        except OSError as error:
            if source is None and "assign" in str(error):
                do_without(f"the loopback network has one address only ({error})")
            raise
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._received = b""

    def __enter__(self) -> Line:
        return self

    def __exit__(self, *reason: object) -> None:
        self.socket.close()

    def send(self, raw: bytes) -> None:
        """Send what the other end still takes; it may have closed already."""
        with suppress(BrokenPipeError, ConnectionResetError):
            self.socket.sendall(raw)

    def end(self) -> None:
        """Say that nothing follows."""
        with suppress(OSError):
            self.socket.shutdown(socket.SHUT_WR)

    def reset(self) -> None:
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
        self.socket.close()

    def listen(self, *, answers: int | None = None, within_s: float = READ_S) -> Talk:
        """Return the answers: so many of them, or all until the connection is closed."""
        talk = Talk()
        deadline = time.monotonic() + within_s
        while answers is None or len(talk.answers) < answers:
            found = split_answer(self._received)
            if found is not None:
                answer, self._received = found
                talk.answers.append(answer)
            elif not self._read(deadline):
                talk.is_closed = True
                break
        talk.rest = self._received
        return talk

    def _read(self, deadline: float) -> bool:
        """Receive more. Returns False at the end. Raises TimeoutError after the deadline."""
        self.socket.settimeout(max(deadline - time.monotonic(), 0.001))
        try:
            received = self.socket.recv(65_536)
        except ConnectionResetError:
            return False
        self._received += received
        return bool(received)


def talk(
    port: int,
    *pieces: bytes,
    source: str | None = None,
    answers: int | None = None,
    ends: bool = False,
    pause_s: float = 0.0,
) -> Talk:
    """Send the pieces over one connection and return what came back. ends: half-close after."""
    with Line(port, source) as line:
        begun = time.monotonic()
        for number, piece in enumerate(pieces):
            # By the clock: pauses that are too long do not add up to a caller who is too slow.
            due_s = begun + number * pause_s - time.monotonic()
            if due_s > 0:
                time.sleep(due_s)
            line.send(piece)
        if ends:
            line.end()
        return line.listen(answers=answers)


def split_answer(received: bytes) -> tuple[Answer, bytes] | None:
    """Return the first whole answer and what follows it. 100 Continue counts as one."""
    head, found, rest = received.partition(b"\r\n\r\n")
    if not found:
        return None
    status_line, *lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (x.partition(":") for x in lines)}
    status = int(status_line.split()[1])
    size = 0 if status in (100, 204, 304) else int(headers["content-length"])
    if len(rest) < size:
        return None
    return Answer(status, headers, rest[:size]), rest[size:]


def request(
    *headers: str | bytes,
    line: str | bytes = "POST /v1/chat/completions HTTP/1.1",
    body: bytes = b'{"model":"fake-model","messages":[{"role":"user","content":"hi"}]}',
    host: str | bytes | None = "Host: 127.0.0.1",
    key: str | None = "@KEY@",
    sized: bool = True,
) -> bytes:
    """Return a request as bytes. sized: with the Content-Length that the body has.

    @KEY@ stands for a valid key, to be put in by with_key.
    """
    head: list[Any] = [line]
    if host is not None:
        head.append(host)
    if key is not None:
        head.append(f"Authorization: Bearer {key}")
    head += headers
    if sized:
        head.append(f"Content-Length: {len(body)}")
    lines: Sequence[bytes] = [x.encode("latin-1") if isinstance(x, str) else x for x in head]
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


def with_key(raw: bytes, secret: str) -> bytes:
    return raw.replace(b"@KEY@", secret.encode())
