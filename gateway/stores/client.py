"""Receives the answers of the writer (gateway.stores.writer)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from gateway.stores.wallet_client import Answer


class Client(Protocol):
    """Receives the answers: ProcessStores."""

    def deliver(self, answer: Callable[[], None]) -> None:
        """Run the answer soon where the client lives."""

    def on_drawn(self, answer: Answer) -> None: ...

    def on_draw_failed(self, workspace_id: str) -> None: ...

    def on_fenced(self) -> None: ...

    def on_rejoined(self) -> None: ...

    def on_reaped(self) -> None: ...

    @property
    def may_rejoin(self) -> bool: ...
