"""The engine pii."""

from __future__ import annotations

from gateway.processors.engines import pii
from tests.flows.processors.faulty_engines import with_faults

handle = with_faults(pii.handle)
