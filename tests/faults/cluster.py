"""A gateway of one process or several, on SQLite or PostgreSQL, that can be broken part by part."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support.postgresql import PostgresqlServer, running_postgresql
from tests.support.redis import RedisServer, running_redis
from tests.support.servers import (
    ROOT,
    GatewayServer,
    UpstreamServer,
    prepare_home,
    running_gateway,
)
from tests.support.storage import POSTGRESQL, use_postgresql

SEAM = Path(__file__).parent / "read_only"
FLAG = "READ_ONLY_WHILE"
LIMITED_SLOTS = 4
BUDGET_NUSD = 2_000_000


@dataclass(frozen=True)
class Keys:
    """What calls are made with. plain: no limits; limited: LIMITED_SLOTS calls at once and a rate;
    budgeted: BUDGET_NUSD in all."""

    plain: str
    limited: str
    budgeted: str
    budgeted_id: str


@dataclass(frozen=True)
class Cluster:
    """Processes of one home. With SQLite there is one, and no database server."""

    servers: Sequence[GatewayServer]
    database: PostgresqlServer | None
    redis: RedisServer
    upstream: UpstreamServer
    keys: Keys

    @property
    def home(self) -> Path:
        return self.servers[0].home

    @property
    def origins(self) -> list[str]:
        return [server.origin for server in self.servers]


def disk_flag(server: GatewayServer) -> Path:
    """Return the file while which exists the server's disk is read-only."""
    return Path(server.env[FLAG])


@contextmanager
def running_cluster(
    home: Path, upstream: UpstreamServer, *, storage: str, processes: int = 1
) -> Iterator[Cluster]:
    """Start everything. home: a prepared one for SQLite; for PostgreSQL one that does not exist.

    Its models are fake-model, whose prices leave fractions of a nano-dollar, so that rounding is
    exercised, and two with fake-model to fall back to: failing-model, of the same provider, and
    lost-model, at whose provider nobody listens.
    """
    with ExitStack() as stack:
        database = None
        if storage == POSTGRESQL:
            database = stack.enter_context(running_postgresql())
            use_postgresql(home, "postgres", server=database)
            prepare_home(home)
        redis = stack.enter_context(running_redis())
        servers = [
            stack.enter_context(running_gateway(home, env=_environment(home, redis, number)))
            for number in range(processes)
        ]
        keys = _prepare(servers[0], upstream)
        for server in servers[1:]:
            server.wait_for_model("lost-model")
        yield Cluster(servers, database, redis, upstream, keys)


def _environment(home: Path, redis: RedisServer, number: int) -> Mapping[str, str]:
    return {
        "PYTHONPATH": f"{SEAM}:{ROOT}",
        FLAG: str(home.with_name(f"read-only-{number}")),
        "REDIS_URL": redis.url,
        # Slots of a killed process are taken for 35 s: nobody shall wait in line for one.
        "TOLLHOUSE_QUEUE_TIMEOUT_MS": "500",
    }


def _prepare(server: GatewayServer, upstream: UpstreamServer) -> Keys:
    """Give calls something to ask for, and keys to ask with."""
    kind = ("--kind", "openai_compatible", "--base-url")
    server.manage("add_provider", "fake", *kind, upstream.base_url)
    server.manage("add_provider", "lost", *kind, "http://127.0.0.1:1/v1")
    prices = ("--input", "0.1505", "--output", "0.6015", "--max-output", "4096")
    server.manage("add_model", "fake-model", "--provider", "fake", "--native", "fake", *prices)
    server.manage("create_workspace", "Chaos", "--credit", "1000")
    limited = ("--max-concurrent", str(LIMITED_SLOTS), "--max-requests-per-minute", "6000")
    budget = ("--total-usd", f"{BUDGET_NUSD / 10**9:.9f}")
    plain, slow, poor = (
        server.manage("issue_key", "chaos", label, *limits)
        for label, limits in (("plain", ()), ("limited", limited), ("budgeted", budget))
    )
    for name, provider in (("failing-model", "fake"), ("lost-model", "lost")):
        way = ("--provider", provider, "--native", "fake", "--fallbacks", "fake-model")
        server.manage("add_model", name, *way, *prices)
    return Keys(plain["secret"], slow["secret"], poor["secret"], poor["key_id"])
