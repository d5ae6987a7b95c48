"""What befalls a cluster: kills, and trouble with disk, database, journal, home and Redis."""

from __future__ import annotations

import asyncio
import signal
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from gateway.journal.file import Position, read_records
from gateway.journal.record import Admitted, Damage, Settled
from tests.faults.cluster import Cluster, disk_flag
from tests.support.rows import locked_database, select
from tests.support.servers import GatewayServer

# A server process is killed, alone or in trouble.
NONE, READ_ONLY, LOCKED, PAUSED = "none", "read-only", "locked", "paused"
FLIPPED, MOVED = "flipped bits", "moved"
# Redis or the database server is killed, and no server process.
REDIS, DATABASE = "Redis", "database server"
# What one process alone can be exposed to: others read its journal as soon as it is dead.
ALONE = (FLIPPED, MOVED)
LASTS_S = (0.2, 0.5)
TRIES, LOOKS, PAUSE_S = 10, 100, 0.02
POSITIONS = (
    "SELECT id, drained_segment, drained_offset FROM gateway_servingprocess WHERE state = 'alive'"
)


def kinds_for(cluster: Cluster) -> list[str]:
    """Return what can befall a cluster, what is usual more often than what is not."""
    kinds = [*(NONE,) * 6, READ_ONLY, LOCKED, PAUSED, PAUSED, REDIS]
    if cluster.database is not None:
        kinds.append(DATABASE)
    if len(cluster.servers) == 1:
        kinds += ALONE if cluster.database is None else (FLIPPED,)
    return kinds


@dataclass
class Disruptions:
    """Disrupts a cluster. damaged: how many records were made unreadable; log: what was done."""

    cluster: Cluster
    rng: Random
    damaged: int = 0
    log: Counter[str] = field(default_factory=Counter)
    _lock: ExitStack = field(default_factory=ExitStack)

    async def kill_part(self, kind: str) -> None:
        """Kill Redis or the database server, and start it again."""
        self.log[kind] += 1
        part = self.cluster.redis if kind == REDIS else self.cluster.database
        assert part is not None
        await asyncio.to_thread(part.stop)
        await asyncio.sleep(self.rng.uniform(*LASTS_S))
        await asyncio.to_thread(part.start)

    async def before_kill(self, kind: str, server: GatewayServer) -> None:
        """Begin, and let it last; half of the time the server outlives it."""
        self.log[kind] += 1
        if kind in (NONE, MOVED):
            return
        if kind == FLIPPED:
            await self._lock_until_records(server)
            return
        if kind == READ_ONLY:
            disk_flag(server).touch()
        elif kind == PAUSED:
            server.process.send_signal(signal.SIGSTOP)
        else:
            await self._lock_database(server)
        await asyncio.sleep(self.rng.uniform(*LASTS_S))
        if self.rng.random() < 0.5:
            self._end(server)
            await asyncio.sleep(self.rng.uniform(*LASTS_S))

    async def _lock_database(self, server: GatewayServer) -> None:
        held = locked_database(server.home, server.env)
        await asyncio.to_thread(self._lock.enter_context, held)

    async def _lock_until_records(self, server: GatewayServer) -> None:
        """Lock the database until there are records in the journal alone. A process that has just
        begun gets no money meanwhile, and has a moment before the next try."""
        for _ in range(TRIES):
            await self._lock_database(server)
            for _ in range(LOOKS):
                if await asyncio.to_thread(_places, server):
                    return
                await asyncio.sleep(PAUSE_S)
            self._end(server)
            await asyncio.sleep(LASTS_S[1])

    def after_kill(self, kind: str, server: GatewayServer) -> None:
        """End what has begun, and do what is done to a dead server's home."""
        self._end(server)
        if kind == FLIPPED:
            self.damaged += _flip_bits(server, self.rng)
        elif kind == MOVED:
            _move(server, server.home.with_name(f"home-{self.log[MOVED]}"))

    def _end(self, server: GatewayServer) -> None:
        disk_flag(server).unlink(missing_ok=True)
        self._lock.close()
        if server.process.poll() is None:
            server.process.send_signal(signal.SIGCONT)


def _move(server: GatewayServer, home: Path) -> None:
    server.home.rename(home)
    server.home, server.log = home, home / server.log.name


def _flip_bits(server: GatewayServer, rng: Random) -> int:
    """Flip a bit in one to three records that are in a dead server's journal alone, of calls of
    which another record stays readable; return in how many."""
    places = _places(server)
    chosen = rng.sample(places, min(len(places), rng.randint(1, 3)))
    for path, start, end in chosen:
        content = bytearray(path.read_bytes())
        content[rng.randrange(start, end - 1)] ^= 1 << rng.randrange(8)
        path.write_bytes(content)
    return len(chosen)


def _places(server: GatewayServer) -> list[tuple[Path, int, int]]:
    """Return file, start and end of the records to choose from: every other one, of calls that
    have both of theirs there, and not the last, which cannot be told from a torn one."""
    found = []
    for process, segment, offset in select(server.home, POSITIONS, server.env):
        [folder] = (
            path
            for path in (server.home / "journal").iterdir()
            if path.name.replace("-", "") == process
        )
        position = Position(int(segment), int(offset))
        for number, start, end in _places_of(folder, position):
            found.append((folder / f"{number:08d}.journal", start, end))
    return found


def _places_of(folder: Path, position: Position) -> list[tuple[int, int, int]]:
    """Return the same of one journal, with the numbers of segments."""
    known: dict[str, list[tuple[int, int, int]]] = {}
    for entry, behind in read_records(folder, position):
        start = position.offset if behind.segment == position.segment else 0
        position = behind
        if isinstance(entry, (Admitted, Settled)):
            known.setdefault(entry.call_id, []).append((behind.segment, start, behind.offset))
        assert not isinstance(entry, Damage)
    pairs = [places for places in known.values() if len(places) == 2]
    chosen = sorted(places[number % 2] for number, places in enumerate(pairs))
    return [place for place in chosen if place[2] != position.offset][::2]
