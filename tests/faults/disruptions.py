"""What befalls a server besides being killed: its disk, its database, its journal, its home."""

from __future__ import annotations

import asyncio
import sqlite3
import uuid
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from gateway.journal.file import Position, read_records
from gateway.journal.record import Admitted, Damage, Settled
from tests.support.rows import FILE
from tests.support.servers import ROOT, GatewayServer

NONE, READ_ONLY, LOCKED, FLIPPED, MOVED = "none", "read-only", "locked", "flipped bits", "moved"
KINDS = (NONE, READ_ONLY, LOCKED, FLIPPED, MOVED)
LASTS_S = (0.2, 0.5)
SEAM = Path(__file__).parent / "read_only"


@dataclass
class Disruptions:
    """Disrupts one server. damaged: how many records were made unreadable; log: what was done."""

    flag: Path
    rng: Random
    damaged: int = 0
    log: dict[str, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))
    _lock: sqlite3.Connection | None = None

    @property
    def environment(self) -> dict[str, str]:
        """What the server's environment has to have for its disk to turn read-only."""
        return {"PYTHONPATH": f"{SEAM}:{ROOT}", "READ_ONLY_WHILE": str(self.flag)}

    async def before_kill(self, kind: str, server: GatewayServer) -> None:
        """Begin, and let it last; half of the time the server outlives it."""
        self.log[kind] += 1
        if kind in (NONE, MOVED):
            return
        if kind == READ_ONLY:
            self.flag.touch()
        else:
            self._lock = await asyncio.to_thread(_lock, server.home)
        await asyncio.sleep(self.rng.uniform(*LASTS_S))
        if kind != FLIPPED and self.rng.random() < 0.5:
            self._end()
            await asyncio.sleep(self.rng.uniform(*LASTS_S))

    def after_kill(self, kind: str, server: GatewayServer) -> None:
        """End what has begun, and do what is done to a dead server's home."""
        self._end()
        if kind == FLIPPED:
            self.damaged += _flip_bits(server.home, self.rng)
        elif kind == MOVED:
            _move(server, server.home.with_name(f"home-{self.log[MOVED]}"))

    def _end(self) -> None:
        self.flag.unlink(missing_ok=True)
        if self._lock is not None:
            self._lock.execute("ROLLBACK")
            self._lock.close()
            self._lock = None


def _lock(home: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(
        home / FILE, timeout=60, isolation_level=None, check_same_thread=False
    )
    connection.execute("BEGIN IMMEDIATE")
    return connection


def _move(server: GatewayServer, home: Path) -> None:
    server.home.rename(home)
    server.home, server.log = home, home / server.log.name


def _flip_bits(home: Path, rng: Random) -> int:
    """Flip a bit in one to three records that are in a dead server's journal alone, of calls of
    which another record stays readable; return in how many."""
    with closing(sqlite3.connect(home / FILE)) as database:
        alive = database.execute(
            "SELECT id, drained_segment, drained_offset FROM gateway_servingprocess"
            " WHERE state = 'alive'"
        ).fetchall()
    flipped = 0
    for process, segment, offset in alive:
        folder = home / "journal" / str(uuid.UUID(process))
        places = _places(folder, Position(segment, offset))
        for number, start, end in rng.sample(places, min(len(places), rng.randint(1, 3))):
            path = folder / f"{number:08d}.journal"
            content = bytearray(path.read_bytes())
            content[rng.randrange(start, end - 1)] ^= 1 << rng.randrange(8)
            path.write_bytes(content)
            flipped += 1
    return flipped


def _places(folder: Path, position: Position) -> list[tuple[int, int, int]]:
    """Return segment, start and end of the frames to choose from: every other record, of calls that
    have both of theirs there, and not the last, which cannot be told from a torn one."""
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
