"""Whether a server process may take calls, from what it knows already: nothing is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateway.core.errors import DatabaseUnavailable
from gateway.edge.connection_limits import ConnectionLimiter

if TYPE_CHECKING:
    from gateway.wiring import Runtime

# The change feed asks the database four times a second. Behind by so much, the process does not
# know of revoked keys, and the database is away or very late.
LATE_S = 3.0

Problem = tuple[str, str]


def find_warnings(runtime: Runtime) -> list[Problem]:
    """Return what an operator has to see to, while calls go on."""
    dead = runtime.writer.steps.reaper.out_of_reach
    if not dead:
        return []
    words = f"Dead processes of other homes whose journals are not posted: {dead}. See Hosts."
    return [("journals", words)]


def find_problems(runtime: Runtime, limiter: ConnectionLimiter) -> list[Problem]:
    """Return why no call can begin now, each as a word and a sentence; none when calls can."""
    if limiter.is_draining:
        return [("draining", "The server is stopping.")]
    age_s = runtime.configuration_age_s
    if age_s is None:
        return [("starting", "The server is starting.")]
    problems = []
    outage = runtime.writer.outage
    if outage is not None:
        is_database = isinstance(outage, DatabaseUnavailable)
        word = "database" if is_database else "disk" if runtime.writer.is_disk_short else "journal"
        problems.append((word, str(outage)))
    if age_s > LATE_S:
        problems.append(("database", f"The database has not responded for {age_s:.0f} s."))
    if limiter.refuse is not None:
        problems.append(("memory", limiter.refuse().message))
    return problems
