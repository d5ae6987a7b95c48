"""Which targets, in which order."""

from __future__ import annotations

from gateway.core.errors import NoUpstreamAvailable
from gateway.snapshot.types import ModelRecord, TargetRecord


def plan(model: ModelRecord) -> tuple[TargetRecord, ...]:
    """Return the model's targets by position. Raises NoUpstreamAvailable when it has none."""
    if not model.targets:
        raise NoUpstreamAvailable(f"No provider serves {model.name} right now.", retry_after_s=5)
    return model.targets
