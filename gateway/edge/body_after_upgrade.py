"""The body behind a head that asked for another protocol, which is not spoken here."""

from __future__ import annotations

from typing import Protocol


class Connection(Protocol):
    """The connection that the body arrives on."""

    _discards_input: bool

    def on_body(self, body: bytes) -> None: ...

    def on_message_complete(self) -> None: ...


class BodyOnly:
    """What a parser calls for one body, and not for its head or what follows it."""

    def __init__(self, protocol: Connection) -> None:
        self._protocol = protocol

    def on_body(self, body: bytes) -> None:
        if not self._protocol._discards_input:
            self._protocol.on_body(body)

    def on_message_complete(self) -> None:
        if not self._protocol._discards_input:
            self._protocol.on_message_complete()
            self._protocol._discards_input = True
