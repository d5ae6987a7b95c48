"""Which models may serve a call when the one that it asks for cannot (docs/adr/0024)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from typing import Protocol

from gateway.admission.resolve_model import resolve_model
from gateway.core.call import AnyCall
from gateway.core.cost_bound import CostBound
from gateway.core.errors import GatewayError
from gateway.core.grant import FallbackModel
from gateway.core.profiles import Profile
from gateway.core.request import RequestHead
from gateway.snapshot.caller import Caller
from gateway.snapshot.candidate import Candidate
from gateway.snapshot.holder import SnapshotHolder
from gateway.snapshot.types import KeyRecord, ModelRecord, Snapshot

Check = Callable[[AnyCall, ModelRecord], tuple[str, ...]]
Assemble = Callable[[AnyCall, ModelRecord, Caller, RequestHead], Awaitable[AnyCall]]


class CalledEndpoint(Protocol):
    """The endpoint of a call, as admission needs it (gateway.endpoints.base)."""

    name: str

    def check_context(self, call: AnyCall, model: ModelRecord) -> None: ...

    def cost_bound(self, call: AnyCall, model: ModelRecord) -> CostBound: ...


class Fallbacks:
    """Finds the models to fall back to.

    check: names the parameters that a model would not get; raises when it cannot serve the call.
    assemble: gives a call the system prompt of a model.
    """

    def __init__(self, snapshot: SnapshotHolder, check: Check, assemble: Assemble) -> None:
        self._snapshot = snapshot
        self._check = check
        self._assemble = assemble

    async def find(
        self,
        caller: Caller,
        call: AnyCall,
        head: RequestHead,
        profile: Profile,
        endpoint: CalledEndpoint,
        model: ModelRecord,
    ) -> Sequence[Candidate]:
        """Return the models that may serve instead of this one: those that the call names, or
        else the model's own. call: before it got this model's prompt.

        Raises as resolve_model does for a name of the call's.
        """
        key, snapshot = caller.key, self._snapshot.current

        def find(name: str) -> ModelRecord:
            return resolve_model(snapshot, key, name, hides=profile.hides_models)

        if call.facts.fallback_names is None:
            others = list(chained_models(snapshot, key, model))
        else:
            others = list(named_models(call, find))
        if head.disables_fallback:
            return ()
        found = []
        for other, dropped in candidates(call, model, others, self._check):
            own = call
            if other.prompt is not None:
                try:
                    own = await self._assemble(call, other, caller, head)
                except GatewayError:
                    continue
            found.append(Candidate(own, other, dropped, endpoint.cost_bound(own, other)))
        return found


def named_models(call: AnyCall, find: Callable[[str], ModelRecord]) -> Iterator[ModelRecord]:
    """Yield the models of the caller's own list. Raises what `find` does, with their place."""
    for index, name in enumerate(call.facts.fallback_names or ()):
        try:
            found = find(name)
        except GatewayError as error:
            error.param = f"models[{index}]"
            error.step = "fallbacks"
            raise
        yield found


def chained_models(snapshot: Snapshot, key: KeyRecord, model: ModelRecord) -> Iterator[ModelRecord]:
    """Yield the models of the model's own chain that are offered and that the key may use.

    Their own chains are not followed.
    """
    for name in model.fallbacks:
        found = snapshot.models.get(name)
        if found is not None and key.may_use(name):
            yield found


def candidates(
    call: AnyCall, asked: ModelRecord, models: Iterable[ModelRecord], check: Check
) -> list[tuple[ModelRecord, tuple[str, ...]]]:
    """Return those that can do what the call needs, each once and never the one asked for, with
    the parameters that they would not get."""
    found: dict[str, tuple[ModelRecord, tuple[str, ...]]] = {}
    for model in models:
        if model.name == asked.name or model.name in found or not model.targets:
            continue
        try:
            dropped = check(call, model)
        except GatewayError:
            continue
        found[model.name] = (model, dropped)
    return list(found.values())


def fallback_models_within(hold_nusd: int, found: Sequence[Candidate]) -> tuple[FallbackModel, ...]:
    """Return those of which the hold covers an answer, limited to what it covers."""
    fallback_models = []
    for one in found:
        bound = one.bound
        affordable = bound.affordable_tokens(hold_nusd)
        if affordable < min(bound.limit_tokens, 1):
            continue
        cap, sent_cap = bound.cap(affordable)
        fallback_models.append(
            FallbackModel(
                model=one.model.name,
                targets=one.model.targets,
                price=bound.price,
                limit_tokens=cap * bound.n,
                cap_tokens=sent_cap,
                dropped_params=one.dropped_params,
                call=one.call,
                bound=bound,
            )
        )
    return tuple(fallback_models)
