"""`python -m bench.many_keys`: what a million keys cost a server, beside a few.

On two homes that `manage.py seed_load` has filled, in turns: how long a server takes to start, its
memory, and how long calls take on one connection; the first call of a key, which has to be looked
up, and all later ones. Nothing is pinned to a core.
"""

from __future__ import annotations

import argparse
import asyncio
import http.client
import sys
import time
from pathlib import Path
from statistics import median

from bench.caller import Round, call_in_a_loop, request_bytes
from bench.programs import BenchError
from bench.samples import median_of, percentile
from bench.served_home import ServedHome, Server
from gateway.services.load_seed.access import LoadAccess, read_access

ROUNDS = 5
CALLS_S = 4.0
WARM_UP_CALLS = 50
MB = 1_000_000
END_OF_ANSWER = b"}"
FIGURES = {
    "start_s": "start, s",
    "start_mb": "memory after the start, MB",
    "first_ms": "first call of a key, median, ms",
    "p50_ms": "later calls, median, ms",
    "p99_ms": "later calls, p99, ms",
    "end_mb": "memory after the calls, MB",
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.many_keys", description=__doc__)
    for name in ("few", "many"):
        parser.add_argument(f"--{name}", type=Path, required=True, help="a home")
        parser.add_argument(f"--{name}-url", default="", help="its DATABASE_URL")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    options = parser.parse_args()
    homes = {"few": options.few.resolve(), "many": options.many.resolve()}
    served = {
        name: ServedHome(home, getattr(options, f"{name}_url")) for name, home in homes.items()
    }
    access = {name: read_access(home) for name, home in homes.items()}
    found: dict[str, list[dict[str, float]]] = {name: [] for name in homes}
    for _ in range(options.rounds):
        for name, home in served.items():
            with home.running() as server:
                found[name].append(measure(server, access[name]))
    few, many = median_of(found["few"]), median_of(found["many"])
    print(f"{'':34} {'few keys':>10} {'many keys':>10}")
    for figure, label in FIGURES.items():
        print(f"{label:34} {few[figure]:10.2f} {many[figure]:10.2f}")
    return 0


def measure(server: Server, access: LoadAccess) -> dict[str, float]:
    start_mb = server.rss_bytes / MB
    for _ in range(WARM_UP_CALLS):
        first_call_s(server.port, access.secrets[0], access.model)
    first_s = [first_call_s(server.port, key, access.model) for key in access.secrets[1:]]
    request = request_bytes(server.port, access.secrets[0], access.model)
    calls = Round(request, must_end_with=END_OF_ANSWER, duration_s=CALLS_S)
    asyncio.run(_call(server.port, calls))
    if calls.errors:
        raise BenchError(calls.errors[0])
    return {
        "start_s": server.start_s,
        "start_mb": start_mb,
        "first_ms": median(first_s) * 1_000,
        "p50_ms": percentile(calls.latencies_s, 0.5) * 1_000,
        "p99_ms": percentile(calls.latencies_s, 0.99) * 1_000,
        "end_mb": server.rss_bytes / MB,
    }


async def _call(port: int, calls: Round) -> None:
    now_s = time.perf_counter()
    calls.ends_s, calls.started_s = now_s + CALLS_S, now_s
    await call_in_a_loop(port, calls, 1)


def first_call_s(port: int, key: str, model: str) -> float:
    """Return how many seconds a call takes. Raises BenchError unless it is answered."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.connect()
    began_s = time.perf_counter()
    assert connection.sock is not None
    connection.sock.sendall(request_bytes(port, key, model))
    answer = http.client.HTTPResponse(connection.sock)
    answer.begin()
    answer.read()
    taken_s = time.perf_counter() - began_s
    connection.close()
    if answer.status != 200:
        raise BenchError(f"the first call of a key was answered with {answer.status}")
    return taken_s


if __name__ == "__main__":
    sys.exit(main())
