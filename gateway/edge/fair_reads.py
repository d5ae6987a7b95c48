"""Reading bodies a few connections at a time, so that a flood of them leaves room for the rest."""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.flow_control import FlowControl

from gateway.core.loop_quota import LoopQuota

# So many connections that were paused are read from again in a pass of the loop. A read is up to
# 256 KB and takes the loop about a fifth of a millisecond.
READS_PER_PASS = 2


class FairFlowControl(FlowControl):
    """uvicorn's flow control, which goes on to read when it is this connection's turn."""

    def __init__(self, transport: asyncio.Transport, reads: LoopQuota) -> None:
        super().__init__(transport)
        self._reads = reads

    def resume_reading(self) -> None:
        if self.read_paused:
            self.read_paused = False
            self._reads.call(self._read_on)

    def _read_on(self) -> None:
        if not self.read_paused and not self._transport.is_closing():
            self._transport.resume_reading()
