"""The ledger on paper: what must be true, computed from what was done. Shares no code with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any


@dataclass
class PaperCall:
    """A call as its caller and its process know it."""

    process_id: str
    grant: Any
    status: str = "running"  # running, settled, aborted or lost
    charge_nusd: int = 0  # what the process has paid; when its row is there, what that says
    cost_nusd: int = 0  # at most
    admitted_at: Any = None  # journal position behind the record
    settled_at: Any = None
    is_released: bool = False


@dataclass
class Paper:
    """Everything granted, and every call."""

    granted_nusd: int = 0
    calls: dict[str, PaperCall] = field(default_factory=dict)

    def held_nusd(self, process_id: str) -> int:
        return sum(
            call.grant.hold_nusd
            for call in self.calls.values()
            if call.process_id == process_id and call.status == "running"
        )

    def charges_nusd(self) -> int:
        return sum(call.charge_nusd for call in self.calls.values())

    def bury(self, process_id: str, surviving_to: Any = None) -> None:
        """The process is reaped: its journal counts, up to a position, and nothing after it."""
        for call in self.calls.values():
            if call.process_id != process_id:
                continue
            if surviving_to is not None and call.admitted_at > surviving_to:
                call.status, call.charge_nusd, call.cost_nusd = "lost", 0, 0
            elif call.status == "running" or (
                surviving_to is not None and call.settled_at and call.settled_at > surviving_to
            ):
                call.status, call.charge_nusd, call.cost_nusd = "aborted", 0, 0


def price_nusd(tokens: Sequence[int], pusd: Sequence[int]) -> int:
    """Return the price of tokens that have a rate each, half-even."""
    exact = Fraction(sum(n * rate for n, rate in zip(tokens, pusd, strict=True)), 1000)
    return round(exact)
