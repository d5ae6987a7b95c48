"""The snapshot that this process serves from. Replaced whole, never changed."""

from __future__ import annotations

from gateway.snapshot.types import Snapshot


class SnapshotHolder:
    """One reference, swapped atomically; readers keep the one they took."""

    def __init__(self, snapshot: Snapshot | None = None) -> None:
        self.current = snapshot or Snapshot()

    def replace(self, snapshot: Snapshot) -> None:
        self.current = snapshot
