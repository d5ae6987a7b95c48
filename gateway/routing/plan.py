"""Which targets, in which order."""

from __future__ import annotations

from collections.abc import Sequence

from gateway.core.errors import NoUpstreamAvailable
from gateway.core.grant import FallbackModel
from gateway.snapshot.types import ModelRecord, TargetRecord


def plan(model: ModelRecord, fallback_models: Sequence[FallbackModel]) -> tuple[TargetRecord, ...]:
    """Return the model's targets by position, then those of each of its fallback models.

    Raises NoUpstreamAvailable when there are none.
    """
    targets = model.targets
    for fallback in fallback_models:
        targets += fallback.targets
    if not targets:
        raise NoUpstreamAvailable(f"No provider serves {model.name} right now.", retry_after_s=5)
    return targets
