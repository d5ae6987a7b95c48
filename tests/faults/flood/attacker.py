"""The attackers' process: `python -m tests.faults.flood.attacker '<JSON of Orders>'`.

A process of its own, at the lowest priority: the caller whose calls are timed must not wait for it.
Prints how the attempts ended, as JSON: {"attack": {"how it ended": count}}.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections import Counter, defaultdict

import msgspec
import uvloop

from tests.faults.flood import attacks
from tests.faults.flood.attacks import Target

LIMITS = "limits"
TOGETHER = {
    "anonymous": attacks.ANONYMOUS,
    "keys": attacks.WITH_KEYS,
    "documents": attacks.WITH_DOCUMENTS,
    "providers": attacks.BY_PROVIDERS,
    "neighbour": attacks.BY_A_NEIGHBOUR,
    LIMITS: attacks.BEYOND_LIMITS,
}
# And each by itself, to find out which of them it is that hurts.
ALONE = {
    one.__name__: (one,)
    for one in (
        *(*attacks.ANONYMOUS, *attacks.WITH_KEYS, *attacks.BEYOND_LIMITS),
        attacks.patient_document,
    )
}
KINDS = TOGETHER | ALONE


class Orders(msgspec.Struct):
    """kind: one of KINDS, whose attacks share the connections."""

    kind: str
    target: Target
    connections: int
    duration_s: float


async def attack(orders: Orders) -> dict[str, Counter[str]]:
    ended: dict[str, Counter[str]] = defaultdict(Counter)
    kinds = KINDS[orders.kind]
    tasks = []
    for number in range(orders.connections):
        one = kinds[number % len(kinds)]
        counter = ended[one.__name__]
        tasks.append(asyncio.ensure_future(attacks.repeat(one, orders.target, counter)))
    await asyncio.wait(tasks, timeout=orders.duration_s)
    return ended


if __name__ == "__main__":
    os.nice(19)
    asyncio.set_event_loop(loop := uvloop.new_event_loop())
    orders = msgspec.json.decode(sys.argv[1], type=Orders)
    sys.stdout.write(json.dumps(loop.run_until_complete(attack(orders))))
    sys.stdout.flush()
    os._exit(0)  # attempts that are under way are not waited for
