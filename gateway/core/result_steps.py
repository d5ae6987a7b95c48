"""What processors do with the results of server tools, before the model gets them
(gateway.processors.results)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from msgspec import Struct


class CheckedResults(Struct, frozen=True, kw_only=True):
    """The results of one round of tools, as the model may get them."""

    # In the order in which they were given.
    texts: Sequence[str]
    # By their places, those that the model does not get: what it and the caller are told instead.
    withheld: Mapping[int, str] = {}
    # What was taken out of them, each value with what stands there instead.
    taken_out: Mapping[str, str] = {}
    # What the model has to know, once, to read those that were changed; empty for nothing.
    note: str = ""


class ResultStep(Protocol):
    """What a processor does with the results of one call's tools. It has what it knows of the
    request."""

    async def check(self, results: Sequence[str]) -> CheckedResults:
        """Return the results of a round, each the text of a message. Raises GatewayError to end the
        call: nothing of them goes on."""
