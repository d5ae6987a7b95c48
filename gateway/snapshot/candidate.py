"""A model to fall back to, before it is known what the hold covers."""

from __future__ import annotations

import msgspec

from gateway.core.call import AnyCall
from gateway.core.cost_bound import CostBound
from gateway.snapshot.types import ModelRecord


class Candidate(msgspec.Struct, frozen=True):
    """A model that could serve the call. call: as this model gets it."""

    call: AnyCall
    model: ModelRecord
    dropped_params: tuple[str, ...]
    bound: CostBound
