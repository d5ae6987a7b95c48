"""The engines of processors in child processes of their own (gateway.processors.engine_worker).

A process is started when its engine is first used, and does one request at a time. One that gives
no answer in time is killed, and the next request gets a fresh one. What fails is tried again three
times; then the call that needs it is refused: nothing goes on that was not processed.
"""

from __future__ import annotations

import asyncio
import logging
import subprocess
from collections import Counter
from collections.abc import Mapping
from functools import partial

import msgspec

from gateway.core.child_process import read_frame, start_child, write_frame
from gateway.core.fair_semaphore import FairSemaphore
from gateway.core.overload import overloaded
from gateway.core.processor_errors import ProcessorFailure
from gateway.core.processor_rules import ServiceSettings
from gateway.processors.engine_worker import Response
from gateway.processors.services import Found, Misspelling, ServiceClient

logger = logging.getLogger(__name__)

WORKER = "gateway.processors.engine_worker"
PACKAGE = "gateway.processors.engines"
# Calls wait for engines, as they do not for files that are fetched.
NICENESS = 5
# Of one engine, and how many of them one owner may keep busy.
MAX_PROCESSES = 2
MAX_OF_ONE_OWNER = 1
# Requests that wait or run, of all owners.
MAX_PRESENT = 256
RUN_S = 5.0
# For importing an engine and its data.
START_S = 60.0
RETRY_AFTER_S = (0.2, 0.4, 0.8)
Values = dict[str, object]
_read_response = msgspec.msgpack.Decoder(Response).decode


class EngineFailed(Exception):
    """An engine gave no result. The text says why, and nothing of the request."""


class EnginePool:
    """For all calls of a process, and one event loop. services: asks those of workspaces. run_s:
    the longest that a request may take, once it is its turn."""

    def __init__(self, services: ServiceClient | None = None, *, run_s: float = RUN_S) -> None:
        self._services = services
        self._run_s = run_s
        self._slots: dict[str, FairSemaphore] = {}
        self._idle: dict[str, list[EngineProcess]] = {}
        self._all: set[EngineProcess] = set()
        self._jobs: set[asyncio.Task[Values]] = set()
        self._present: Counter[str] = Counter()

    def bind(self, owner: str) -> BoundEngines:
        """Return the engines for calls of one owner, a workspace."""
        return BoundEngines(self, owner, self._services)

    async def run(self, engine: str, request: Mapping[str, object], *, owner: str = "") -> Values:
        """Return what the engine makes of a request: JSON values in and out.

        engine: the name of a module in gateway.processors.engines, or a module's full name.
        Raises ProcessorFailure when it failed four times, Overloaded when too many wait.
        """
        if self._present.total() >= MAX_PRESENT:
            raise overloaded("Too many requests wait for a processor.")
        module = engine if "." in engine else f"{PACKAGE}.{engine}"
        frame = write_frame(request)
        self._present[owner] += 1
        try:
            for wait_s in (*RETRY_AFTER_S, None):
                try:
                    return await self._run_to_its_end(module, frame, owner)
                except EngineFailed as error:
                    logger.error("The engine %s failed: %s", engine, error)
                    if wait_s is None:
                        raise ProcessorFailure(detail=f"The engine {engine}: {error}") from None
                await asyncio.sleep(wait_s)
            raise AssertionError("The last try returns or raises.")
        finally:
            self._present[owner] -= 1
            if not self._present[owner]:
                del self._present[owner]

    async def aclose(self) -> None:
        """Kill all processes."""
        jobs = list(self._jobs)
        for job in jobs:
            job.cancel()
        await asyncio.gather(*jobs, return_exceptions=True)
        for process in list(self._all):
            self._end(process)
        if self._services is not None:
            await self._services.aclose()

    async def _run_to_its_end(self, module: str, frame: bytes, owner: str) -> Values:
        """A request that has its turn is run to its end even if nobody waits any more: the process
        would have to be killed, and started again for the next."""
        begun = asyncio.Event()
        job = asyncio.ensure_future(self._run(module, frame, owner, begun))
        self._jobs.add(job)
        job.add_done_callback(self._forget)
        try:
            return await asyncio.shield(job)
        except asyncio.CancelledError:
            if not begun.is_set():
                job.cancel()
            raise

    def _forget(self, job: asyncio.Task[Values]) -> None:
        self._jobs.discard(job)
        if not job.cancelled():
            job.exception()  # it was told to whoever waited, if anybody did

    async def _run(self, module: str, frame: bytes, owner: str, begun: asyncio.Event) -> Values:
        slots = self._slots.get(module)
        if slots is None:
            self._slots[module] = slots = FairSemaphore(MAX_PROCESSES, MAX_OF_ONE_OWNER)
        async with slots.slot(owner):
            begun.set()
            process = await self._take(module)
            try:
                response = await process.ask(frame, self._run_s)
                if response.failure:
                    raise EngineFailed(f"{response.failure} was raised")
            except BaseException:
                self._end(process)
                raise
            self._idle.setdefault(module, []).append(process)
            return response.result

    async def _take(self, module: str) -> EngineProcess:
        """Return an idle process of the engine, or a new one."""
        idle = self._idle.get(module, [])
        while idle:
            process = idle.pop()
            if process.is_alive:
                return process
            self._end(process)
        process = await EngineProcess.start(module)
        self._all.add(process)
        return process

    def _end(self, process: EngineProcess) -> None:
        self._all.discard(process)
        process.end()


class BoundEngines:
    """The engines of a pool for one owner."""

    def __init__(self, pool: EnginePool, owner: str, services: ServiceClient | None) -> None:
        self._pool = pool
        self._owner = owner
        self._services = services

    async def run(self, engine: str, request: Mapping[str, object]) -> Values:
        """As EnginePool.run."""
        return await self._pool.run(engine, request, owner=self._owner)

    async def find_entities(
        self, service: ServiceSettings, text: str, language: str, threshold: float
    ) -> list[Found]:
        """As ServiceClient.find_entities."""
        assert self._services is not None
        return await self._services.find_entities(service, text, language, threshold)

    async def find_misspellings(
        self, service: ServiceSettings, text: str, language: str, level: str
    ) -> list[Misspelling]:
        """As ServiceClient.find_misspellings."""
        assert self._services is not None
        return await self._services.find_misspellings(service, text, language, level)


class EngineProcess:
    """One process, and our end of the socket to it."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self._process = process
        self._reader = reader
        self._writer = writer

    @classmethod
    async def start(cls, module: str) -> EngineProcess:
        """Return a process whose engine is ready. Raises EngineFailed."""
        try:
            start = partial(start_child, WORKER, [module], niceness=NICENESS)
            process, link = await asyncio.to_thread(start)
        except OSError as error:
            raise EngineFailed(f"it could not be started: {error.strerror}") from None
        reader, writer = await asyncio.open_unix_connection(sock=link)
        started = cls(process, reader, writer)
        try:
            async with asyncio.timeout(START_S):
                await read_frame(reader)
        except BaseException as error:
            started.end()
            if isinstance(error, TimeoutError | EOFError | OSError):
                raise EngineFailed("it did not start") from None
            raise
        return started

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    async def ask(self, frame: bytes, limit_s: float) -> Response:
        """Return the response to a request. Raises EngineFailed."""
        try:
            async with asyncio.timeout(limit_s):
                self._writer.write(frame)
                await self._writer.drain()
                return _read_response(await read_frame(self._reader))
        except TimeoutError:
            raise EngineFailed(f"there was no result within {limit_s:g} s") from None
        except (EOFError, OSError):
            raise EngineFailed("its process ended") from None
        except msgspec.MsgspecError:
            raise EngineFailed("its result is not valid") from None

    def end(self) -> None:
        """Kill the process."""
        self._writer.close()
        self._process.kill()
        # Killed, it is gone in a moment; waiting for that is not for the loop.
        asyncio.get_running_loop().run_in_executor(None, self._process.wait)
