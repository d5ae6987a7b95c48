"""Frames of the scratch dialect: a decimal length, a colon, so many bytes, a comma."""

from __future__ import annotations


class Netstrings:
    """A Framing (gateway.providers.base)."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, chunk: bytes) -> list[bytes]:
        self._rest += chunk
        frames = []
        while b":" in self._rest:
            length, _, rest = self._rest.partition(b":")
            if len(rest) <= int(length):
                break
            frames.append(rest[: int(length)])
            self._rest = rest[int(length) + 1 :]
        return frames

    def finish(self) -> list[bytes]:
        return []
