"""The format that a call comes in, and the transport by which it goes to its provider."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tests.flows.pairs.conversation import Format
from tests.flows.pairs.formats import FORMATS
from tests.flows.transports import DIRECT, HTTPX


@dataclass(frozen=True)
class Route:
    form: Format
    transport: str = DIRECT

    def __str__(self) -> str:
        return self.form.name if self.transport == DIRECT else f"{self.form.name}-{self.transport}"


# What every test of the battery takes.
ROUTES = tuple(Route(form) for form in FORMATS)
# A test so marked takes the other transport, too. What that may change is what comes from a
# provider, and that has been read before anything is written in a caller's format: one is enough.
BOTH_TRANSPORTS = pytest.mark.parametrize(
    "route", [*ROUTES, Route(FORMATS[0], HTTPX)], indirect=True, ids=str
)
