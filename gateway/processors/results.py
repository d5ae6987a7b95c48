"""Results of server tools on their way to the model: processors read them as they read the request.

It fails closed: where a processor fails, nothing of them goes on, and the call ends.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from time import perf_counter_ns

from gateway.core.errors import GatewayError
from gateway.core.processing import Processing, ProcessorReport
from gateway.core.processor_errors import ProcessorFailure
from gateway.core.result_steps import CheckedResults, ResultStep
from gateway.processors.texts import LONG_BYTES, MessageTexts, beside_the_loop

logger = logging.getLogger(__name__)

# The status of a processor that has withheld a result.
WITHHELD = "withheld"


class ResultSteps:
    """The steps of a call's processors as one, each on what those before it have left."""

    def __init__(self, processing: Processing) -> None:
        self._processing = processing
        self._steps: list[tuple[str, ResultStep]] = []

    def __bool__(self) -> bool:
        return bool(self._steps)

    def add(self, name: str, step: ResultStep) -> None:
        self._steps.append((name, step))

    async def check(self, results: Sequence[str]) -> CheckedResults:
        """As ResultStep.check. What is taken out is noted for what is stored of the answer."""
        texts, withheld, notes = list(results), dict[int, str](), list[str]()
        for name, step in self._steps:
            places = [place for place in range(len(texts)) if place not in withheld]
            if not places:
                break
            done = await self._run(name, step, [texts[place] for place in places])
            for place, text in zip(places, done.texts, strict=True):
                texts[place] = text
            withheld |= {places[index]: message for index, message in done.withheld.items()}
            self._processing.taken_out.update(done.taken_out)
            notes += [done.note] if done.note else []
        return CheckedResults(texts=texts, withheld=withheld, note="\n\n".join(notes))

    async def _run(self, name: str, step: ResultStep, results: Sequence[str]) -> CheckedResults:
        """Raises GatewayError alone."""
        began_ns = perf_counter_ns()
        try:
            return await step.check(results)
        except GatewayError:
            raise
        except Exception as error:
            # Its text may have a part of a result in it.
            logger.error("The processor %s failed: %s", name, type(error).__name__)
            raise ProcessorFailure(f"The processor {name} failed.") from None
        finally:
            self._processing.add_answer_time(name, perf_counter_ns() - began_ns)


class ResultTexts(MessageTexts):
    """The texts of results, each a message of a tool. Made by read_results."""

    def __init__(self, results: Sequence[str]) -> None:
        super().__init__([{"role": "tool", "content": result} for result in results])
        self._is_long = is_long(results)

    async def written(self, texts: Sequence[str]) -> list[str]:
        """Return the results with these texts in the places of those that were found."""

        def write() -> list[str]:
            self.write(texts)
            return [str(message["content"]) for message in self.messages]

        return await beside_the_loop(write, is_long=self._is_long)


async def read_results(results: Sequence[str]) -> ResultTexts:
    """Return the texts of results, which are JSON or are not."""
    return await beside_the_loop(lambda: ResultTexts(results), is_long=is_long(results))


def is_long(results: Sequence[str]) -> bool:
    return sum(map(len, results)) >= LONG_BYTES


def place_of(param: str) -> int:
    """Return the place of the message that a text of a result stands in."""
    return int(param[len("messages[") : param.index("]")])


def withhold(
    results: Sequence[str],
    report: ProcessorReport,
    messages: Mapping[int, str],
    *,
    found: str,
    names: Mapping[int, Sequence[str]],
) -> CheckedResults:
    """Return results without those that have a message in their place, and report them. found: the
    detail of the report that has the names of what was found in them."""
    if messages:
        report.status = WITHHELD
        count, before = report.details.get(WITHHELD, 0), report.details.get(found, [])
        assert isinstance(count, int)
        assert isinstance(before, list)
        report.details[WITHHELD] = count + len(messages)
        more = {name for place in messages for name in names[place]}
        report.details[found] = sorted({*before, *more})
    return CheckedResults(texts=results, withheld=messages)
