"""The programs of operators' templates, run elsewhere: gateway.prompts.cell, spoken to by lines.

A serving process has one cell, started when a template first needs it. A template that uses up
its time takes the cell with it; the next one gets a fresh cell.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from asyncio.subprocess import PIPE, Process
from collections import OrderedDict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from gateway.core.quarantine import Quarantine
from gateway.prompts.variables import Values

logger = logging.getLogger(__name__)

ROOT = Path(__file__).resolve().parents[2]
COMMAND = (sys.executable, "-m", "gateway.prompts.cell")
# All that a cell learns of where it runs.
ENVIRONMENT = {"PYTHONPATH": str(ROOT)}
OUT_OF_TIME = "It takes longer than a prompt may take."
# A guard against a machine that stands still; a template's own time is the processor's.
WAIT_S = 10.0
# What used up its time is not tried again for so long: others wait for the cell meanwhile.
REST_S = 5.0
# And with the same values for so long.
QUARANTINE_S = 60.0
MAX_KEPT = 256
MAX_LINE_BYTES = 2**20


class PromptFailed(Exception):
    """A template cannot be rendered. The message is for operators."""


class CellFailed(PromptFailed):
    """The cell was ended by what it was asked."""


class PromptQuarantined(PromptFailed):
    """The template made its cell fail before, with the same values."""


class Renderer:
    """Renders templates; what one said for the same values is kept. For one event loop."""

    def __init__(self) -> None:
        self._cell: Process | None = None
        self._turn = asyncio.Lock()
        self._names: dict[str, tuple[str, ...]] = {}
        self._said: OrderedDict[tuple[Any, ...], str | PromptFailed] = OrderedDict()
        self._resting: dict[str, float] = {}
        self._quarantine = Quarantine(QUARANTINE_S)

    async def prepare(self, texts: Iterable[str]) -> None:
        """Compile these templates and forget all others. One that fails is logged."""
        wanted = set(texts)
        self._names = {text: names for text, names in self._names.items() if text in wanted}
        self._resting.clear()
        self._quarantine.clear()
        for text in wanted - self._names.keys():
            try:
                await self._compile(text)
            except PromptFailed as error:
                logger.error("A prompt template cannot be used: %s", error)

    async def render(self, text: str, values: Values) -> str:
        """Return what the template says. Raises PromptFailed, PromptQuarantined."""
        names = self._names.get(text)
        if names is None:
            names = await self._compile(text)
        given = {name: values[name] for name in names if name in values}
        key = (text, *given.items())
        known = self._said.get(key)
        if known is None:
            if key in self._quarantine:
                raise PromptQuarantined(OUT_OF_TIME)
            try:
                known = await self._ask_for(text, given)
            except CellFailed:
                self._quarantine.add(key)
                raise
            self._said[key] = known
            if len(self._said) > MAX_KEPT:
                self._said.popitem(last=False)
        if isinstance(known, PromptFailed):
            raise known
        return known

    async def aclose(self) -> None:
        async with self._turn:
            await self._end()

    async def _compile(self, text: str) -> tuple[str, ...]:
        answer = await self._ask(text, {"text": text})
        if "names" not in answer:
            raise PromptFailed(worded(answer))
        names = self._names[text] = tuple(answer["names"])
        return names

    async def _ask_for(self, text: str, given: Values) -> str | PromptFailed:
        answer = await self._ask(text, {"text": text, "values": given})
        return str(answer["said"]) if "said" in answer else PromptFailed(worded(answer))

    async def _ask(self, text: str, wish: dict[str, Any]) -> dict[str, Any]:
        """Return the cell's answer. Raises PromptFailed when it gives none."""
        clock = asyncio.get_running_loop()
        async with self._turn:
            if self._resting.get(text, 0) > clock.time():
                raise PromptFailed(OUT_OF_TIME)
            try:
                async with asyncio.timeout(WAIT_S):
                    return await self._talk(json.dumps(wish).encode() + b"\n")
            except (OSError, ValueError) as error:
                await self._end()
                self._resting[text] = clock.time() + REST_S
                # A machine that stands still is not the template's fault.
                failed = PromptFailed if isinstance(error, TimeoutError) else CellFailed
                raise failed(OUT_OF_TIME) from None
            except asyncio.CancelledError:
                # The answer would be taken for that of the next question.
                await self._end()
                raise

    async def _talk(self, line: bytes) -> dict[str, Any]:
        """Raises OSError or ValueError when there is no answer, or none that makes sense."""
        if self._cell is None or self._cell.returncode is not None:
            self._cell = await asyncio.create_subprocess_exec(
                *COMMAND, stdin=PIPE, stdout=PIPE, limit=MAX_LINE_BYTES, cwd=ROOT, env=ENVIRONMENT
            )
        assert self._cell.stdin is not None
        assert self._cell.stdout is not None
        self._cell.stdin.write(line)
        await self._cell.stdin.drain()
        answer: dict[str, Any] = json.loads(await self._cell.stdout.readline())
        return answer

    async def _end(self) -> None:
        cell, self._cell = self._cell, None
        if cell is not None:
            if cell.returncode is None:
                cell.kill()
            await cell.wait()


def worded(answer: dict[str, Any]) -> str:
    """Return why a template was refused, with its line where that is known."""
    line, reason = answer.get("line"), str(answer.get("refused", OUT_OF_TIME))
    return f"Line {line}: {reason}" if line else reason
