"""What tools of the gateway may add to the cost of a call at most: their fees."""

from __future__ import annotations

from collections.abc import Iterable

from gateway.core.server_tools import CallTool

MAX_USES = 20


def most_fees_nusd(tools: Iterable[CallTool]) -> int:
    """Return the most that the runs of these tools can cost: of the most expensive ones as many as
    a call may have."""
    fees = [(tool.nusd_each * tool.max_units, tool.max_runs) for tool in tools]
    total_nusd, left = 0, MAX_USES
    for nusd, runs in sorted(fees, reverse=True):
        taken = min(runs, left)
        total_nusd += taken * nusd
        left -= taken
    return total_nusd
