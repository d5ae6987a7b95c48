"""How long it takes until what a killed process had is there for others again."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass

from tests.faults.cluster import LIMITED_SLOTS, Cluster
from tests.flows.caller import Caller
from tests.support.rows import count
from tests.support.waiting import wait_until

DEADLINE_S = 120.0
LONG = "script:endless&delay_ms=50"


@dataclass(frozen=True)
class Recovery:
    """After a process was killed."""

    slots_back_s: float = 0.0
    purses_back_s: float = 0.0


def watch_recovery(cluster: Cluster) -> Recovery:
    """Kill a process that has every slot of a key, and see how long calls of that key are refused,
    and for how long the process's money is drawn. The only process is started again at once."""
    killed = cluster.servers[0]
    rest = cluster.servers[-1]
    key = cluster.keys.limited
    holder, other = (Caller(server.port, key, "", "") for server in (killed, rest))
    with ExitStack() as streams:
        for _ in range(LIMITED_SLOTS):
            _take_slot(holder, streams)
        drawn = f"gateway_servingprocess WHERE state = 'alive' AND pid = {killed.process.pid}"
        assert count(cluster.home, drawn) == 1
        killed.kill()
        killed_s = time.monotonic()
    if rest is killed:
        killed.restart()

    def watch_slots() -> float:
        wait_until(
            lambda: other.ask("a", max_tokens=5).status == 200,
            within_s=DEADLINE_S,
            what="a slot",
        )
        return time.monotonic() - killed_s

    def watch_purses() -> float:
        wait_until(
            lambda: count(cluster.home, drawn) == 0,
            within_s=DEADLINE_S,
            what="the money of the dead process",
        )
        return time.monotonic() - killed_s

    with ThreadPoolExecutor(2) as threads:
        slots, purses = threads.submit(watch_slots), threads.submit(watch_purses)
        return Recovery(round(slots.result(), 1), round(purses.result(), 1))


def _take_slot(caller: Caller, streams: ExitStack) -> None:
    """Begin a stream that goes on; the slot of another call may only be free a moment later."""

    def begins() -> bool:
        live = caller.begin(LONG, stream=True, max_tokens=2_000)
        if live.response.status == 200:
            streams.enter_context(live).wait_for_tokens(1)
            return True
        live.close()
        return False

    wait_until(begins, within_s=DEADLINE_S, what="a slot")
