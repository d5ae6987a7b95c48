"""Races of many callers for the last of something, at server processes that share a database.

One thread sends all calls of a round before it reads an answer. Callers are made many at a time,
because it takes a moment until every process knows their limits.
"""

from __future__ import annotations

import json
import selectors
import shutil
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from tests.flows.caller import CHAT, Caller
from tests.flows.site import Site, running_site
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
READ_BYTES = 65_536
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


@dataclass(eq=False)
class Contender:
    """One call of a round, asked again as long as nothing was decided."""

    port: int
    request: bytes
    socket: socket.socket = field(init=False)
    read: bytes = b""

    def ask(self) -> None:
        self.read = b""
        self.socket.sendall(self.request)

    def connect(self) -> None:
        self.socket = socket.create_connection(("127.0.0.1", self.port), DEADLINE_S)

    def status(self) -> int | None:
        """Read what is there; return the status once the response is whole."""
        read = self.socket.recv(READ_BYTES)
        assert read, f"The connection ended after {self.read!r}."
        self.read += read
        head, end, body = self.read.partition(b"\r\n\r\n")
        if not end:
            return None
        lines = head.lower().split(b"\r\n")
        [length] = [int(line[15:]) for line in lines if line.startswith(b"content-length:")]
        return int(head.split(b" ", 2)[1]) if len(body) >= length else None


@dataclass(frozen=True)
class Track:
    """A running site, and the ports of all its processes."""

    site: Site
    ports: Sequence[int]

    def race(
        self, callers: Sequence[Caller], prompt: str = PROMPT, *, tokens: int = TOKENS
    ) -> Outcome:
        """Make calls of each to all processes at once; return how many ended with which status."""
        return self._run(callers, prompt, tokens, lambda ended: None)

    def race_at_a_gate(self, callers: Sequence[Caller], *, tokens: int = TOKENS) -> Outcome:
        """Race with calls that go on until all others have been refused."""
        gate = f"gate-{next(_numbers):06d}"

        def look(ended: int) -> None:
            if ended == CONTENDERS - MOST:
                self.site.upstream.open_gate(gate)

        return self._run(callers, script(gate, tokens), tokens, look)

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

    def _run(
        self, callers: Sequence[Caller], prompt: str, tokens: int, look: Callable[[int], None]
    ) -> Outcome:
        """look: hears after each call how many have ended."""
        processes, found = len(self.ports), list[int]()
        with ExitStack() as stack:
            selector = stack.enter_context(selectors.DefaultSelector())
            contenders = []
            for number in range(CONTENDERS):
                caller = callers[number // processes % len(callers)]
                request = _write(caller, prompt, tokens)
                contender = Contender(self.ports[number % processes], request)
                contender.connect()
                stack.enter_context(contender.socket)
                selector.register(contender.socket, selectors.EVENT_READ, contender)
                contenders.append(contender)
            for contender in contenders:
                contender.ask()
            deadline_s = time.monotonic() + DEADLINE_S
            while len(found) < CONTENDERS:
                ready = selector.select(1.0)
                assert time.monotonic() < deadline_s, Counter(found)
                undecided = []
                for key, _ in ready:
                    status = key.data.status()
                    if status == UNAVAILABLE:
                        undecided.append(key.data)
                    elif status is not None:
                        found.append(status)
                        selector.unregister(key.data.socket)
                        look(len(found))
                if undecided:
                    time.sleep(RETRY_S)
                for contender in undecided:
                    contender.ask()
        return dict(Counter(found))


def script(gate: str, tokens: int) -> str:
    return f"script:tokens={tokens}&gate={gate}"


def _write(caller: Caller, prompt: str, tokens: int) -> bytes:
    messages = [{"role": "user", "content": prompt}]
    body = json.dumps({"model": caller.model, "messages": messages, "max_tokens": tokens}).encode()
    head = (
        f"POST {CHAT} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
        f"authorization: Bearer {caller.secret}\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


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
