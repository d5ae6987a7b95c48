"""What all connections to providers share of one event loop, whatever carries them."""

from __future__ import annotations

import asyncio

from gateway.core.loop_quota import LoopQuota, LoopTimeQuota

# How long all answers together may take to hand over large pieces in a pass of the loop.
PIECES_NS_PER_PASS = 1_500_000
# So many connections that were paused are read from again in a pass; a read is up to 256 KB.
READS_PER_PASS = 2
CONNECTS_PER_PASS = 1


class LoopQuotas:
    """What all connections of one loop share, so that nobody waits long behind a flood."""

    __slots__ = ("connects", "pieces", "reads")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.pieces = LoopTimeQuota(loop, PIECES_NS_PER_PASS)
        self.reads = LoopQuota(loop, READS_PER_PASS)
        self.connects = LoopQuota(loop, CONNECTS_PER_PASS)
