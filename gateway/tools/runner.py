"""Runs the tools that a model calls: within their limits, several at once, each within its time.

A tool that fails tells the model so, and does not end the call. Where the call has processors that
read results, the model and the caller are told of a round when these have read all of it.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from time import perf_counter_ns
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from gateway.core.errors import GatewayError
from gateway.core.events import ToolEvent
from gateway.core.json_types import JsonObject, JsonValue
from gateway.core.receipt import ToolRun
from gateway.core.result_steps import ResultStep
from gateway.core.server_tools import CallTool, ToolResult
from gateway.tools.base import ToolFailed
from gateway.tools.hold_bounds import MAX_USES
from gateway.tools.rounds import PREFIX, ToolRequest

logger = logging.getLogger(__name__)

MAX_AT_ONCE = 5
PREVIEW_CHARS = 200
MAX_ARGUMENT_NAMES = 20
NS_PER_US, US_PER_MS = 1_000, 1_000
Tell = Callable[[ToolEvent], None]
# Takes a run that is over and what each of its units costs.
NoteRun = Callable[[ToolRun, int], None]
# Takes a run that was noted, whose result is withheld.
NoteWithheld = Callable[[ToolRun], None]


class Refused(Exception):
    """The tool is not run. The text is for the model."""


class Outcome(NamedTuple):
    """What a run came to. result: None where it failed; failure: what the model is told then, or in
    place of what was withheld. note: what it has to know to read the result."""

    status: str
    result: ToolResult | None
    failure: str = ""
    note: str = ""

    @property
    def text(self) -> str:
        """What the model gets."""
        content = {"error": self.failure} if self.result is None else self.result.content
        text = content if isinstance(content, str) else msgspec.json.encode(content).decode()
        return f"{text}\n\n{self.note}" if self.note else text


class Run(NamedTuple):
    """A run that is over. tool: None where there is none of that name. record: as it was noted."""

    request: ToolRequest
    tool: CallTool | None
    outcome: Outcome
    record: ToolRun


class ToolRunner:
    """Of one attempt of a call. tools: by the names that the model knows them by. run_s: how long
    one of them may run. check: what processors do with the results; None for nothing."""

    def __init__(
        self,
        tools: Mapping[str, CallTool],
        note: NoteRun,
        *,
        run_s: float,
        max_runs: int = MAX_USES,
        check: ResultStep | None = None,
        note_withheld: NoteWithheld = lambda run: None,
    ) -> None:
        self.runs = 0
        self._run_s = run_s
        self._max_runs = max_runs
        self._tools = tools
        self._note = note
        self._check = check
        self._note_withheld = note_withheld
        # What the model was told of results already.
        self._notes: set[str] = set()
        self._runs_of: Counter[str] = Counter()
        self._slots = asyncio.Semaphore(MAX_AT_ONCE)
        self._seq = 0

    @property
    def is_used_up(self) -> bool:
        """True when no other run may begin."""
        return self.runs >= self._max_runs

    async def run_all(
        self, round_number: int, requests: Sequence[ToolRequest], tell: Tell
    ) -> list[Outcome]:
        """Return what each came to, in their order. tell: takes the events as they happen. Raises
        what processors raise."""
        running = [self._run(round_number, request, tell) for request in requests]
        runs = list(await asyncio.gather(*running))
        if self._check is not None:
            runs = await self._checked(self._check, runs)
            for run in runs:
                self._tell_end(tell, run)
        return [run.outcome for run in runs]

    async def _checked(self, check: ResultStep, runs: Sequence[Run]) -> list[Run]:
        """Return the runs with what the model and the caller may know of them."""
        texts = [run.outcome.text for run in runs]
        done = await check.check(texts)
        checked: list[Run] = []
        note = "" if done.note in self._notes else done.note
        for place, run in enumerate(runs):
            outcome = run.outcome
            if place in done.withheld:
                outcome = withheld(outcome, done.withheld[place])
                self._note_withheld(run.record)
            elif done.texts[place] != texts[place]:
                outcome = replaced(outcome, done.texts[place])._replace(note=note)
                self._notes.add(note)
                note = ""
            checked.append(run._replace(outcome=outcome))
        return checked

    async def _run(self, round_number: int, request: ToolRequest, tell: Tell) -> Run:
        tool = self._tools.get(request.name)
        plugin = request.name.removeprefix(PREFIX)[:64] if tool is None else tool.plugin
        function = request.name.removeprefix(PREFIX)[:64]
        outcome, arguments, began_ns = Outcome("cancelled", None), {}, perf_counter_ns()
        try:
            arguments = self._admit(request, tool)
            assert tool is not None
            async with self._slots:
                began_ns = perf_counter_ns()
                self._tell(tell, "tool_start", tool, request, arguments=arguments)
                outcome = await _outcome_of(tool, arguments, self._run_s)
        except Refused as refusal:
            outcome = Outcome("refused", None, str(refusal))
        finally:
            spent_ns = perf_counter_ns() - began_ns
            result, nusd_each = outcome.result, 0 if tool is None else tool.nusd_each
            units = 0 if result is None else result.units
            record = ToolRun(
                plugin=plugin,
                function="" if function == plugin else function,
                round=round_number,
                status=outcome.status,
                us=spent_ns // NS_PER_US,
                units=units,
                nusd=units * nusd_each,
                arguments=tuple(str(name)[:64] for name in arguments)[:MAX_ARGUMENT_NAMES],
            )
            self._note(record, nusd_each)
        run = Run(request, tool, outcome, record)
        if self._check is None:
            self._tell_end(tell, run)
        return run

    def _tell_end(self, tell: Tell, run: Run) -> None:
        if run.tool is None:
            return
        result, failure = run.outcome.result, run.outcome.failure
        self._tell(
            tell,
            "tool_error" if result is None or failure else "tool_result",
            run.tool,
            run.request,
            preview=failure if result is None or failure else preview_of(result),
            duration_ms=run.record.us // US_PER_MS,
            nusd=run.record.nusd,
        )

    def _admit(self, request: ToolRequest, tool: CallTool | None) -> JsonObject:
        """Return the arguments of a run that may begin. Raises Refused."""
        if tool is None:
            raise Refused("There is no tool of this name.")
        if self.is_used_up:
            raise Refused(f"This call can run tools {self._max_runs} times at most.")
        if self._runs_of[request.name] >= tool.max_runs:
            raise Refused(f"This tool can run {tool.max_runs} times in a call at most.")
        try:
            arguments = msgspec.json.decode(request.arguments or "{}", type=dict[str, JsonValue])
        except (msgspec.DecodeError, msgspec.ValidationError):
            raise Refused("The arguments are not a JSON object.") from None
        self.runs += 1
        self._runs_of[request.name] += 1
        return arguments

    def _tell(
        self,
        tell: Tell,
        kind: str,
        tool: CallTool,
        request: ToolRequest,
        *,
        arguments: JsonValue = None,
        preview: str = "",
        duration_ms: int = 0,
        nusd: int = 0,
    ) -> None:
        self._seq += 1
        tell(
            ToolEvent(
                type=kind,  # type: ignore[arg-type]  # one of the three
                plugin=tool.plugin,
                function=request.name,
                call_id=request.id,
                seq=self._seq,
                is_shown=tool.shows_events,
                arguments=arguments,
                preview=preview,
                duration_ms=duration_ms,
                nusd=nusd,
            )
        )


async def _outcome_of(tool: CallTool, arguments: JsonObject, run_s: float) -> Outcome:
    try:
        async with asyncio.timeout(run_s):
            return Outcome("ok", await tool.run(arguments))
    except TimeoutError:
        return Outcome("timeout", None, f"The tool took longer than {run_s:g} s.")
    except ToolFailed as error:
        return Outcome("failed", None, str(error)[:500])
    except GatewayError as error:
        return Outcome("failed", None, error.message[:500])
    except Exception as error:
        # Its text may have a part of the call in it.
        logger.error("The tool %s failed: %s", tool.plugin, type(error).__name__)
        return Outcome("failed", None, "The tool failed.")


def withheld(outcome: Outcome, message: str) -> Outcome:
    """Return an outcome of which the model gets a message in place of the result, and the caller no
    source: the model was given none. Pictures are the caller's, and stay."""
    result = outcome.result
    if result is not None:
        images = result.images
        result = ToolResult(content={"error": message}, units=result.units, images=images)
    return Outcome("withheld", result, message)


def replaced(outcome: Outcome, text: str) -> Outcome:
    """Return an outcome of which the model gets another text."""
    if outcome.result is None:
        return outcome._replace(failure=str(msgspec.json.decode(text)["error"]))
    # A preview of the tool's own is of what it returned.
    return outcome._replace(result=replace(outcome.result, content=text, preview=""))


def preview_of(result: ToolResult) -> str:
    """Return the beginning of what a tool returned."""
    content = result.content
    text = result.preview or (
        content if isinstance(content, str) else msgspec.json.encode(content).decode()
    )
    return text[:PREVIEW_CHARS]
