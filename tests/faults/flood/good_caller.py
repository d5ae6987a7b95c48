"""A caller that behaves: short calls with pauses, each timed."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from dataclasses import dataclass, field

from tests.faults.flood.wire import Connection, request

PAUSE_S = 0.02
CALLERS = 4


@dataclass
class Timings:
    """How the calls went. Milliseconds of those that were answered with 200."""

    ms: list[float] = field(default_factory=list)
    ended: Counter[str] = field(default_factory=Counter)

    def percentile(self, share: float) -> float:
        ordered = sorted(self.ms)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0


async def call_for(port: int, key: str, prompt: str, duration_s: float) -> Timings:
    """Call the model `good` from a few connections for so long."""
    timings = Timings()
    body = json.dumps(
        {"model": "good", "messages": [{"role": "user", "content": prompt}], "max_tokens": 16}
    ).encode()
    data = request(
        *("POST", "/v1/chat/completions", body),
        authorization=f"Bearer {key}",
        content_type="application/json",
    )
    end_s = time.monotonic() + duration_s
    await asyncio.gather(*(_keep_calling(port, data, end_s, timings) for _ in range(CALLERS)))
    return timings


async def _keep_calling(port: int, data: bytes, end_s: float, timings: Timings) -> None:
    connection = Connection(port)
    while time.monotonic() < end_s:
        began = time.perf_counter()
        try:
            await connection.send(data)
            ended = await connection.answer(30.0)
        except OSError as error:
            connection.close()
            ended = type(error).__name__
        timings.ended[ended] += 1
        if ended == "200":
            timings.ms.append((time.perf_counter() - began) * 1_000)
        await asyncio.sleep(PAUSE_S)
    connection.close()
