"""Races of many callers for the last of something, at server processes that share a database.

All calls of a round are sent before an answer is read. Callers are made many at a time,
because it takes a moment until every process knows their limits.
"""

from __future__ import annotations

import asyncio
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from tests.flows.caller import Caller
from tests.flows.site import Site, running_site
from tests.support.kept_connections import Connection, KeptConnections, write_request
from tests.support.redis import running_redis
from tests.support.servers import running_gateway
from tests.support.storage import POSTGRESQL
from tests.support.waiting import DEADLINE_S

CONTENDERS = 64
MOST = 5
PROMPT, TOKENS = "a", 10
MADE_AT_ONCE = 100
# By then every process knows of a change.
CHANGES_HOLD_S = 1.0
# Some part did not answer in time, as on a busy machine: nothing was decided, callers ask again.
UNAVAILABLE, RETRY_S = 503, 0.1
_numbers = count(1)

Outcome = dict[int, int]
# Makes one caller or several that together may do MOST of what is raced for.
MakeCallers = Callable[[], Sequence[Caller]]


@dataclass(frozen=True)
class Setting:
    """Where races are held. Several processes need PostgreSQL and Redis."""

    storage: str
    processes: int = 1
    has_redis: bool = False

    def __str__(self) -> str:
        counters = "Redis" if self.has_redis else "memory"
        return f"{self.storage}-{counters}-{self.processes}"


@dataclass(frozen=True)
class Track:
    """A running site, and the ports of all its processes."""

    site: Site
    ports: Sequence[int]

    def race(
        self, callers: Sequence[Caller], prompt: str = PROMPT, *, tokens: int = TOKENS
    ) -> Outcome:
        """Make calls of each to all processes at once; return how many ended with which status."""
        return asyncio.run(self._race(callers, prompt, tokens))

    def race_at_a_gate(self, callers: Sequence[Caller], *, tokens: int = TOKENS) -> Outcome:
        """Race with calls that go on until all others have been refused."""
        gate = f"gate-{next(_numbers):06d}"
        return asyncio.run(self._race(callers, script(gate, tokens), tokens, gate))

    def contenders(self, make: MakeCallers, rounds: int) -> Iterator[Sequence[Caller]]:
        """Yield new callers for each round, whose limits every process knows."""
        while rounds > 0:
            made = [make() for _ in range(min(rounds, MADE_AT_ONCE))]
            time.sleep(CHANGES_HOLD_S)
            yield from made
            rounds -= len(made)

    def hold_nusd(self, *, tokens: int = TOKENS) -> int:
        """Return what one call of a race at a gate holds."""
        probe, gate = self.site.caller(), f"gate-{next(_numbers):06d}"
        with probe.begin(script(gate, tokens), max_tokens=tokens, stream=True) as live:
            [running] = self.site.running(probe, count=1)
            self.site.upstream.open_gate(gate)
            live.answer()
        return int(running["hold_nusd"])

    async def _race(
        self, callers: Sequence[Caller], prompt: str, tokens: int, gate: str = ""
    ) -> Outcome:
        """gate: opened when all calls have ended but those that may be let in."""
        processes, found = len(self.ports), list[int]()
        origins = [f"http://127.0.0.1:{port}" for port in self.ports]
        async with asyncio.timeout(DEADLINE_S), KeptConnections(origins) as connections:
            contenders = []
            for number in range(CONTENDERS):
                caller = callers[number // processes % len(callers)]
                messages = [{"role": "user", "content": prompt}]
                body = {"model": caller.model, "messages": messages, "max_tokens": tokens}
                connection = await connections.take(origins[number % processes])
                contenders.append(_decide(connection, write_request(caller.secret, body)))
            for decided in asyncio.as_completed(contenders):
                found.append(await decided)
                if gate and len(found) == CONTENDERS - MOST:
                    await asyncio.to_thread(self.site.upstream.open_gate, gate)
        return dict(Counter(found))


async def _decide(connection: Connection, request: bytes) -> int:
    """Ask as long as nothing is decided; return the status."""
    try:
        while True:
            answer = await connection.ask(request)
            if answer.status != UNAVAILABLE:
                return answer.status
            await asyncio.sleep(RETRY_S)
    finally:
        connection.close()


def script(gate: str, tokens: int) -> str:
    return f"script:tokens={tokens}&gate={gate}"


@contextmanager
def running_track(setting: Setting, template: Path, home: Path) -> Iterator[Track]:
    """Start the processes of a setting on a copy of a prepared home. At the end the ledger must be
    right. home: where the copy is to be."""
    shutil.copytree(template, home)
    env = {"TOLLHOUSE_QUEUE_TIMEOUT_MS": "300"}
    with ExitStack() as stack:
        if setting.has_redis:
            redis = stack.enter_context(running_redis())
            env["REDIS_URL"] = redis.url
            env["TOLLHOUSE_REDIS_WAIT_MS"] = "5000"  # the machine is busy, not Redis
        site = stack.enter_context(running_site(home, env))
        others = [
            stack.enter_context(running_gateway(home, env=env))
            for _ in range(setting.processes - 1)
        ]
        assert setting.storage == POSTGRESQL or not others
        yield Track(site, [site.gateway.port, *(other.port for other in others)])
