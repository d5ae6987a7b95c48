"""Renders operators' templates in a child process (gateway.prompts.sandbox_worker).

A server process has one worker, started when a template first needs it. A template that uses up
its time takes the worker with it; the next one gets a fresh worker.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from asyncio.subprocess import PIPE, Process
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from pathlib import Path

from gateway.core.json_types import JsonValue
from gateway.core.quarantine import Quarantine
from gateway.prompts.variables import HAYSTACK, Values, WorkerAnswer, WorkerRequest

logger = logging.getLogger(__name__)

ROOT = Path(__file__).resolve().parents[2]
COMMAND = (sys.executable, "-m", "gateway.prompts.sandbox_worker")
# The whole environment of a worker.
ENVIRONMENT = {"PYTHONPATH": str(ROOT)}
OUT_OF_TIME = "Rendering takes too long."
# A guard against a machine that stands still; a template's own time is the processor's.
WAIT_S = 10.0
# A template that used up its time is not tried again for so long: others need the worker.
BACKOFF_S = 5.0
# And with the same values for so long.
QUARANTINE_S = 60.0
MAX_KEPT = 256
MAX_LINE_BYTES = 2**20


class PromptFailed(Exception):
    """A template cannot be rendered. The message is for operators."""


class SandboxFailed(PromptFailed):
    """The template ended the worker."""


class PromptQuarantined(PromptFailed):
    """The template made its worker fail before, with the same values."""


class Renderer:
    """Renders templates, and caches the results. For one event loop."""

    def __init__(self) -> None:
        self._worker: Process | None = None
        self._lock = asyncio.Lock()
        self._names: dict[str, tuple[str, ...]] = {}
        self._outputs: OrderedDict[tuple[object, ...], str | PromptFailed] = OrderedDict()
        self._backoff_until: dict[str, float] = {}
        self._quarantine = Quarantine(QUARANTINE_S)

    async def prepare(self, texts: Iterable[str]) -> None:
        """Compile these templates and forget all others. One that fails is logged."""
        wanted = set(texts)
        self._names = {text: names for text, names in self._names.items() if text in wanted}
        self._backoff_until.clear()
        self._quarantine.clear()
        for text in wanted - self._names.keys():
            try:
                await self._compile(text)
            except PromptFailed as error:
                logger.error("A prompt template cannot be used: %s", error)

    async def render(self, text: str, values: Values, haystack: JsonValue = None) -> str:
        """Return the rendered template. haystack: the data that the call attaches; None for none.
        Raises PromptFailed, PromptQuarantined."""
        names = self._names.get(text)
        if names is None:
            names = await self._compile(text)
        given = {name: values[name] for name in names if name in values}
        key: tuple[object, ...] = (text, *given.items())
        if haystack is not None and HAYSTACK in names:
            return await self._render_with(text, given, haystack, key)
        known = self._outputs.get(key)
        if known is None:
            if key in self._quarantine:
                raise PromptQuarantined(OUT_OF_TIME)
            try:
                known = await self._render(text, given)
            except SandboxFailed:
                self._quarantine.add(key)
                raise
            self._outputs[key] = known
            if len(self._outputs) > MAX_KEPT:
                self._outputs.popitem(last=False)
        if isinstance(known, PromptFailed):
            raise known
        return known

    async def _render_with(
        self, text: str, given: Values, haystack: JsonValue, key: tuple[object, ...]
    ) -> str:
        """As render, with the data of one call, whose output is not kept."""
        line = json.dumps(haystack)
        if len(line) > MAX_LINE_BYTES // 2:
            raise PromptFailed("The data of the call is too long for a template with logic.")
        key = (*key, line)
        if key in self._quarantine:
            raise PromptQuarantined(OUT_OF_TIME)
        try:
            done = await self._render(text, {**given, HAYSTACK: haystack})
        except SandboxFailed:
            self._quarantine.add(key)
            raise
        if isinstance(done, PromptFailed):
            raise done
        return done

    async def aclose(self) -> None:
        async with self._lock:
            await self._end()

    async def _compile(self, text: str) -> tuple[str, ...]:
        answer = await self._request(text, {"text": text})
        if "names" not in answer:
            raise PromptFailed(describe_error(answer))
        names = self._names[text] = tuple(answer["names"])
        return names

    async def _render(self, text: str, given: Mapping[str, JsonValue]) -> str | PromptFailed:
        answer = await self._request(text, {"text": text, "values": given})
        return str(answer["output"]) if "output" in answer else PromptFailed(describe_error(answer))

    async def _request(self, text: str, request: WorkerRequest) -> WorkerAnswer:
        """Return the worker's answer. Raises PromptFailed when it gives none."""
        clock = asyncio.get_running_loop()
        async with self._lock:
            if self._backoff_until.get(text, 0) > clock.time():
                raise PromptFailed(OUT_OF_TIME)
            try:
                async with asyncio.timeout(WAIT_S):
                    return await self._exchange(json.dumps(request).encode() + b"\n")
            except (OSError, ValueError) as error:
                await self._end()
                self._backoff_until[text] = clock.time() + BACKOFF_S
                # A machine that stands still is not the template's fault.
                failed = PromptFailed if isinstance(error, TimeoutError) else SandboxFailed
                raise failed(OUT_OF_TIME) from None
            except asyncio.CancelledError:
                # The answer would be taken for that of the next question.
                await self._end()
                raise

    async def _exchange(self, line: bytes) -> WorkerAnswer:
        """Raises OSError or ValueError when there is no answer, or none that makes sense."""
        if self._worker is None or self._worker.returncode is not None:
            self._worker = await asyncio.create_subprocess_exec(
                *COMMAND, stdin=PIPE, stdout=PIPE, limit=MAX_LINE_BYTES, cwd=ROOT, env=ENVIRONMENT
            )
        assert self._worker.stdin is not None
        assert self._worker.stdout is not None
        self._worker.stdin.write(line)
        await self._worker.stdin.drain()
        answer: WorkerAnswer = json.loads(await self._worker.stdout.readline())
        return answer

    async def _end(self) -> None:
        worker, self._worker = self._worker, None
        if worker is not None:
            if worker.returncode is None:
                worker.kill()
            await worker.wait()


def describe_error(answer: WorkerAnswer) -> str:
    """Return why a template was refused, with its line where that is known."""
    line, reason = answer.get("line"), str(answer.get("error", OUT_OF_TIME))
    return f"Line {line}: {reason}" if line else reason
