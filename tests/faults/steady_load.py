"""Calls at a steady rate to several addresses, a part of them streams, however slow answers are."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.support.kept_connections import Answer, KeptConnections, write_request

STREAMED, BUFFERED = "streamed", "buffered"
STREAM_SHARE = 4  # one in so many
STREAM = "script:tokens=30&delay_ms=50"
PAUSE_S = 0.01
MOST_RUNNING = 500
ANSWER_S = 60.0


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
        async with KeptConnections(self.origins) as connections:
            tasks: set[asyncio.Task[None]] = set()
            begun_s = time.monotonic()
            number = 0
            while not self._stop.is_set():
                due = int((time.monotonic() - begun_s) * self.per_s) - number - self.skipped
                fitting = min(due, MOST_RUNNING - len(tasks))
                self.skipped += due - fitting
                for _ in range(fitting):
                    task = asyncio.ensure_future(self._call(connections, number))
                    tasks.add(task)
                    task.add_done_callback(tasks.discard)
                    number += 1
                await asyncio.sleep(PAUSE_S)
            await asyncio.gather(*tasks)

    async def _call(self, connections: KeptConnections, number: int) -> None:
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
            connection = await connections.take(origin)
        except OSError:
            self.away += 1
            return
        self.calls.append(call)
        try:
            async with asyncio.timeout(ANSWER_S):
                answer = await connection.ask(write_request(self.key, body))
            call.ended = _verdict(call, answer)
        except (OSError, TimeoutError) as error:
            call.ended = repr(error)
        connections.keep(origin, connection)
        call.status, call.call_id = connection.answer.status, connection.answer.call_id


def _verdict(call: CallSeen, answer: Answer) -> str:
    content = answer.content
    if answer.status != 200:
        return f"{answer.status} {content[:200].decode(errors='replace')}"
    if call.kind == STREAMED and not content.endswith(b"data: [DONE]\n\n"):
        return "cut short"
    if b'"error"' in content:
        return f"error {content[-300:].decode(errors='replace')}"
    return "whole"
