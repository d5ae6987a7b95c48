"""The engine language."""

from __future__ import annotations

from gateway.processors.engines import language
from tests.flows.processors.faulty_engines import with_faults

handle = with_faults(language.handle)
