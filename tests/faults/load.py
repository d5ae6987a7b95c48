"""Mixed load on a gateway that may be killed at any moment; it remembers every id it has seen."""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from collections.abc import Coroutine
from dataclasses import dataclass, field
from random import Random
from typing import Any

import httpx

from gateway.core.ids import find_request_id

ID_HEADER = "x-request-id"
STREAM_ID = re.compile(rb'"id":\s?"([^"]+)"')
PAUSE_S = 0.02
UNAVAILABLE = "status 503"
CONFLICT = "status 409"  # the call of this Idempotency-Key still runs
NOBODY = "nobody is there"
IDEMPOTENT_SHARE = 0.2
REFUSED_PAUSE_S = 0.1  # as SDKs wait before they ask again


@dataclass
class Seen:
    """What the callers know: ids of all answers, and how the calls went."""

    ids: set[str] = field(default_factory=set)
    # Of answers to calls with an Idempotency-Key; and where the second answer was another one.
    given: set[str] = field(default_factory=set)
    given_again: list[str] = field(default_factory=list)
    outcomes: Counter[str] = field(default_factory=Counter)

    @property
    def calls(self) -> int:
        return sum(self.outcomes.values())

    def note_id(self, text: str | None) -> None:
        found = find_request_id(text or "")
        if found is not None:
            self.ids.add(str(found))


async def keep_calling(
    base_url: str, key: str, seen: Seen, rng: Random, *, callers: int, wanted: int
) -> None:
    """Call from so many callers at once until so many calls were made, well or badly."""
    headers = {"authorization": f"Bearer {key}"}
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(
        base_url=base_url, headers=headers, timeout=20, limits=limits, trust_env=False
    ) as session:
        seeds = [rng.random() for _ in range(callers)]
        await asyncio.gather(
            *(_call_repeatedly(session, seen, Random(seed), wanted) for seed in seeds)
        )


async def _call_repeatedly(
    session: httpx.AsyncClient, seen: Seen, rng: Random, wanted: int
) -> None:
    while seen.calls < wanted:
        if rng.random() < IDEMPOTENT_SHARE:
            await _call_until_answered(session, seen, rng, wanted)
        else:
            await _count_call(_call(session, seen, rng), seen)


async def _count_call(call: Coroutine[Any, Any, str], seen: Seen) -> str:
    """Return how the call went, and count it."""
    try:
        outcome = await call
    except httpx.ConnectError:
        await asyncio.sleep(PAUSE_S)  # nobody is there: not a call
        return NOBODY
    except (httpx.HTTPError, OSError):
        outcome = "broken"
    seen.outcomes[outcome] += 1
    if outcome in (UNAVAILABLE, CONFLICT):
        await asyncio.sleep(REFUSED_PAUSE_S)
    return outcome


async def _call_until_answered(
    session: httpx.AsyncClient, seen: Seen, rng: Random, wanted: int
) -> None:
    """Send one call with an Idempotency-Key until it has its answer, and then once more."""
    key = {"idempotency-key": f"key-{rng.getrandbits(64):x}"}
    body = {
        "model": "fake-model",
        "messages": [{"role": "user", "content": f"script:tokens={rng.randint(1, 30)}"}],
    }
    ids: list[str] = []

    async def call() -> str:
        answer = await session.post("/v1/chat/completions", json=body, headers=key)
        if answer.status_code == 200:
            ids.append(answer.json()["id"])
            seen.note_id(ids[-1])
        return "idempotent" if answer.status_code == 200 else f"status {answer.status_code}"

    while seen.calls < wanted and len(ids) < 2:
        await _count_call(call(), seen)
    seen.given |= {str(find_request_id(text)) for text in ids[:1]}
    if len(set(ids)) > 1:
        seen.given_again.append(f"{ids[0]}, then {ids[1]}")


async def _call(session: httpx.AsyncClient, seen: Seen, rng: Random) -> str:
    """Make one call; return how it went."""
    kind = rng.choice(["buffered", "buffered", "streamed", "left"])
    script = f"script:tokens={rng.randint(1, 30)}&first_ms={rng.randint(0, 20)}"
    if kind == "streamed":
        script += f"&delay_ms={rng.randint(0, 5)}"
    elif kind == "left":
        script = f"script:tokens=100&delay_ms={rng.randint(5, 20)}"
    body: dict[str, Any] = {
        "model": "fake-model",
        "messages": [{"role": "user", "content": script}],
        "max_tokens": rng.choice([5, 40, 200]),
        "stream": kind != "buffered",
    }
    async with session.stream("POST", "/v1/chat/completions", json=body) as answer:
        outcome = f"status {answer.status_code}"
        if outcome == UNAVAILABLE:  # perhaps nothing can be written down; or only counted
            return outcome
        seen.note_id(answer.headers.get(ID_HEADER))
        if answer.status_code != 200:
            return outcome
        if kind == "buffered":
            seen.note_id(json.loads(await answer.aread())["id"])
            return kind
        return await _read_stream(answer, seen, rng.randint(1, 5) if kind == "left" else None)


async def _read_stream(answer: httpx.Response, seen: Seen, chunks: int | None) -> str:
    """Read to the end, or leave after so many chunks."""
    last = b""
    async for chunk in answer.aiter_raw():
        for text in STREAM_ID.findall(chunk):
            seen.note_id(text.decode())
        last = (last + chunk)[-64:]
        if chunks is not None:
            chunks -= 1
            if chunks <= 0:
                return "left"
    if chunks is not None:
        return "ended before we left"
    return "streamed" if b"[DONE]" in last else "cut short"
