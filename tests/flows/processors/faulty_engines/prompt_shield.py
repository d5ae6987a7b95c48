"""The engine of prompt_shield."""

from __future__ import annotations

from gateway.processors.engines import prompt_shield
from tests.flows.processors.faulty_engines import with_faults

handle = with_faults(prompt_shield.handle)
