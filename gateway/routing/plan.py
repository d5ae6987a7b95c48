"""Which targets, in which order, each with which of its provider's credentials."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from gateway.core.call import AnyCall
from gateway.core.call_credentials import CallCredentials
from gateway.core.errors import NoUpstreamAvailable
from gateway.core.grant import FallbackModel
from gateway.snapshot.types import ModelRecord, TargetRecord


class ChooseCredential(Protocol):
    def __call__(
        self, target: TargetRecord, given: CallCredentials | None
    ) -> Iterator[TargetRecord]:
        """Yield a target with one credential, and with another while the one before it is why the
        target did not serve. given: what the call brings."""


class Plan:
    """For all calls of a process."""

    def __init__(self, choose: ChooseCredential) -> None:
        self._choose = choose

    def plan(
        self, model: ModelRecord, fallback_models: Sequence[FallbackModel], call: AnyCall
    ) -> Iterable[TargetRecord]:
        """Return the model's targets by position, then those of each of its fallback models.

        A call that only providers on premises may serve gets none of the others. Raises
        NoUpstreamAvailable when there are none.
        """
        targets = model.targets
        has_choice = model.has_choice
        for fallback in fallback_models:
            targets += fallback.targets
            has_choice = has_choice or any(target.has_choice for target in fallback.targets)
        if call.facts.needs_local:
            targets = tuple(target for target in targets if target.is_local)
        if not targets:
            said = f"No provider serves {model.name} right now."
            raise NoUpstreamAvailable(said, retry_after_s=5)
        return self._each(targets, call) if has_choice else targets

    def _each(self, targets: tuple[TargetRecord, ...], call: AnyCall) -> Iterator[TargetRecord]:
        for target in targets:
            if target.has_choice:
                yield from self._choose(target, call.facts.credentials)
            else:
                yield target
