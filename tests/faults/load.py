"""Mixed load on a gateway that may be killed at any moment; it remembers every id it has seen."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections import Counter
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

import httpx

from gateway.core.ids import find_request_id
from tests.faults.cluster import Keys

ID_HEADER = "x-request-id"
STREAM_ID = re.compile(rb'"id":\s?"([^"]+)"')
PAUSE_S = 0.02
UNAVAILABLE = "status 503"
CONFLICT = "status 409"  # the call of this Idempotency-Key still runs
# Refusals that may have no record of their own.
UNRECORDED = (UNAVAILABLE, "status 429", "status 402")
NOBODY = "nobody is there"
IDEMPOTENT_SHARE = 0.2
REFUSED_PAUSE_S = 0.1  # as SDKs wait before they ask again
KINDS = (
    *("buffered", "buffered", "buffered", "streamed", "streamed", "left", "left"),
    *("failed over", "fallback", "fallback streamed", "limited", "limited streamed", "budgeted"),
)
MODELS = {
    "failed over": "failing-model",
    "fallback": "lost-model",
    "fallback streamed": "lost-model",
}


@dataclass
class Seen:
    """What the callers know: ids of all answers, and how the calls went. wanted: how many calls
    are to be made; allowed: how many may be made for now."""

    wanted: int

    ids: set[str] = field(default_factory=set)
    # Of answers to calls with an Idempotency-Key; and where the second answer was another one.
    given: set[str] = field(default_factory=set)
    given_again: list[str] = field(default_factory=list)
    outcomes: Counter[str] = field(default_factory=Counter)
    allowed: int = sys.maxsize

    @property
    def calls(self) -> int:
        """How many calls were made, without those that are to be asked again: a locked database
        is not to use them up."""
        again = self.outcomes[UNAVAILABLE] + self.outcomes[CONFLICT]
        return sum(self.outcomes.values()) - again

    def note_id(self, text: str | None) -> None:
        found = find_request_id(text or "")
        if found is not None:
            self.ids.add(str(found))


@dataclass(frozen=True)
class Callers:
    """Calls any of the origins, each call another."""

    session: httpx.AsyncClient
    origins: Sequence[str]
    keys: Keys
    seen: Seen

    def url(self, rng: Random) -> str:
        return f"{rng.choice(self.origins)}/v1/chat/completions"

    def headers(self, kind: str) -> Mapping[str, str]:
        key = self.keys.plain
        if kind.startswith("limited"):
            key = self.keys.limited
        elif kind == "budgeted":
            key = self.keys.budgeted
        return {"authorization": f"Bearer {key}"}


async def keep_calling(
    origins: Sequence[str], keys: Keys, seen: Seen, rng: Random, *, callers: int
) -> None:
    """Call from so many callers at once until enough calls were made, well or badly."""
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(timeout=20, limits=limits, trust_env=False) as session:
        load = Callers(session, origins, keys, seen)
        seeds = [rng.random() for _ in range(callers)]
        await asyncio.gather(*(_call_repeatedly(load, Random(seed)) for seed in seeds))


async def _call_repeatedly(load: Callers, rng: Random) -> None:
    while load.seen.calls < load.seen.wanted:
        if load.seen.calls >= load.seen.allowed:
            await asyncio.sleep(PAUSE_S)
        elif rng.random() < IDEMPOTENT_SHARE:
            await _call_until_answered(load, rng)
        else:
            await _count_call(_call(load, rng), load.seen)


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
    if outcome in (*UNRECORDED, CONFLICT):
        await asyncio.sleep(REFUSED_PAUSE_S)
    return outcome


async def _call_until_answered(load: Callers, rng: Random) -> None:
    """Send one call with an Idempotency-Key until it has its answer, and then once more."""
    headers = {**load.headers(""), "idempotency-key": f"key-{rng.getrandbits(64):x}"}
    body = {
        "model": "fake-model",
        "messages": [{"role": "user", "content": f"script:tokens={rng.randint(1, 30)}"}],
    }
    ids: list[str] = []

    async def call() -> str:
        answer = await load.session.post(load.url(rng), json=body, headers=headers)
        if answer.status_code == 200:
            ids.append(answer.json()["id"])
            load.seen.note_id(ids[-1])
        return "idempotent" if answer.status_code == 200 else f"status {answer.status_code}"

    while load.seen.calls < load.seen.wanted and len(ids) < 2:
        await _count_call(call(), load.seen)
    known = [str(find_request_id(text)) for text in ids]
    load.seen.given |= set(known[:1])
    if len(set(known)) > 1:
        load.seen.given_again.append(f"{known[0]}, then {known[1]}")


async def _call(load: Callers, rng: Random) -> str:
    """Make one call; return how it went."""
    kind = rng.choice(KINDS)
    streams = kind in ("streamed", "left") or kind.endswith(" streamed")
    body: dict[str, Any] = {
        "model": MODELS.get(kind, "fake-model"),
        "messages": [{"role": "user", "content": _script(kind, rng)}],
        "max_tokens": rng.choice([5, 40, 200]),
        "stream": streams,
    }
    async with load.session.stream(
        "POST", load.url(rng), json=body, headers=load.headers(kind)
    ) as answer:
        outcome = f"status {answer.status_code}"
        if outcome in UNRECORDED:
            return outcome
        load.seen.note_id(answer.headers.get(ID_HEADER))
        if answer.status_code != 200:
            return outcome
        if not streams:
            load.seen.note_id(json.loads(await answer.aread())["id"])
            return kind
        leaves_after = rng.randint(1, 5) if kind == "left" else None
        outcome = await _read_stream(answer, load.seen, leaves_after)
        return kind if outcome == "whole" else outcome


def _script(kind: str, rng: Random) -> str:
    if kind == "left":
        return f"script:tokens=100&delay_ms={rng.randint(5, 20)}"
    script = f"script:tokens={rng.randint(1, 30)}&first_ms={rng.randint(0, 20)}"
    if kind.endswith("streamed"):
        script += f"&delay_ms={rng.randint(0, 5)}"
    elif kind == "failed over":
        script += "&fail=503&fail_times=1"
    return script


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
                return "whole"
    if chunks is not None:
        return "ended before we left"
    return "whole" if b"[DONE]" in last else "cut short"
