"""Every processor, in the order in which they run, whatever order callers name them in."""

from __future__ import annotations

from gateway.processors.base import Processor

PROCESSORS: dict[str, Processor] = {}
