"""What tools of the gateway may add to the cost of a call: fees, and their definitions' tokens."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gateway.core.token_bounds import bound_tokens
from gateway.tools.base import ServerTool
from gateway.tools.registry import TOOLS
from gateway.tools.rounds import define

MAX_USES = 20


def most_fees_nusd(tools: Iterable[ServerTool]) -> int:
    """Return the most that the uses of these tools can cost."""
    return MAX_USES * max(tool.nusd_each for tool in tools)


def named_tools(server_tools: Sequence[tuple[str, bool]]) -> list[ServerTool]:
    """Return the tools that a call names."""
    return [TOOLS[name] for name, _ in server_tools]


def bound_definitions(tools: Iterable[ServerTool]) -> int:
    """Return how many tokens the definitions add to a prompt at most."""
    return sum(bound_tokens(define(tool).decode()) for tool in tools)
