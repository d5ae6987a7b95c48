"""Calls at a steady rate to several addresses, a part of them streams, however slow answers are."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import httpx

STREAMED, BUFFERED = "streamed", "buffered"
STREAM_SHARE = 4  # one in so many
STREAM = "script:tokens=30&delay_ms=50"
PAUSE_S = 0.02
MOST_RUNNING = 100


@dataclass
class CallSeen:
    """One call as its caller saw it. ended: "" while it runs, "whole", or what went wrong."""

    origin: str
    kind: str
    call_id: str = ""
    status: int = 0
    ended: str = ""

    @property
    def is_whole(self) -> bool:
        return self.ended == "whole"


@dataclass
class SteadyLoad:
    """Calls from a thread of its own while the block runs; those that run are waited for.

    A call that finds nobody listening is not a call: a load balancer would have asked elsewhere.
    A machine that cannot carry so many is not given more than MOST_RUNNING at once.
    """

    origins: Sequence[str]
    key: str
    model: str
    per_s: float
    calls: list[CallSeen] = field(default_factory=list)
    away: int = 0
    skipped: int = 0
    _stop: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def __enter__(self) -> SteadyLoad:
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()))
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        assert self._thread is not None
        self._thread.join()

    def failed(self) -> list[CallSeen]:
        return [call for call in list(self.calls) if call.ended not in ("", "whole")]

    async def _run(self) -> None:
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=50)
        headers = {"authorization": f"Bearer {self.key}"}
        async with httpx.AsyncClient(
            headers=headers, timeout=60, limits=limits, trust_env=False
        ) as session:
            tasks: set[asyncio.Task[None]] = set()
            begun_s = time.monotonic()
            number = 0
            while not self._stop.is_set():
                due = int((time.monotonic() - begun_s) * self.per_s) - number - self.skipped
                fitting = min(due, MOST_RUNNING - len(tasks))
                self.skipped += due - fitting
                for _ in range(fitting):
                    task = asyncio.ensure_future(self._call(session, number))
                    tasks.add(task)
                    task.add_done_callback(tasks.discard)
                    number += 1
                await asyncio.sleep(PAUSE_S)
            await asyncio.gather(*tasks)

    async def _call(self, session: httpx.AsyncClient, number: int) -> None:
        origin = self.origins[number % len(self.origins)]
        streams = number // len(self.origins) % STREAM_SHARE == 0
        call = CallSeen(origin, STREAMED if streams else BUFFERED)
        body = {
            "model": self.model,
            "messages": [{"role": "user", "content": STREAM if streams else "a"}],
            "stream": streams,
            "max_tokens": 40,
        }
        try:
            async with session.stream("POST", f"{origin}/v1/chat/completions", json=body) as answer:
                self.calls.append(call)
                call.status = answer.status_code
                call.call_id = answer.headers.get("x-request-id", "")
                content = await answer.aread()
            call.ended = _verdict(call, content)
        except httpx.ConnectError:
            self.away += 1
        except (httpx.HTTPError, OSError) as error:
            if not call.status:
                self.calls.append(call)
            call.ended = repr(error)


def _verdict(call: CallSeen, content: bytes) -> str:
    if call.status != 200:
        return f"{call.status} {content[:200].decode(errors='replace')}"
    if call.kind == STREAMED and not content.endswith(b"data: [DONE]\n\n"):
        return "cut short"
    if b'"error"' in content:
        return f"error {content[-300:].decode(errors='replace')}"
    return "whole"
