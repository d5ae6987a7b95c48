"""The engine spelling."""

from __future__ import annotations

from gateway.processors.engines import spelling
from tests.flows.processors.faulty_engines import with_faults

handle = with_faults(spelling.handle)
