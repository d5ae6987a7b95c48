"""Which models may serve a call when the one that it asks for cannot (docs/adr/0024)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence

import msgspec

from gateway.admission.caller import Caller
from gateway.admission.cost_bound import (
    affordable_tokens,
    cap_of,
    limit_of,
    max_price,
    rates,
    to_nusd_up,
)
from gateway.admission.resolve_model import resolve_model
from gateway.core.chat import ChatCall
from gateway.core.errors import GatewayError
from gateway.core.grant import FallbackModel
from gateway.core.money import Price
from gateway.core.profiles import Profile
from gateway.core.request import RequestHead
from gateway.snapshot.holder import SnapshotHolder
from gateway.snapshot.types import KeyRecord, ModelRecord, Snapshot

Check = Callable[[ChatCall, ModelRecord], tuple[str, ...]]
Assemble = Callable[[ChatCall, ModelRecord, Caller, RequestHead], Awaitable[ChatCall]]


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """A model that could serve the call."""

    # As this model gets it.
    call: ChatCall
    model: ModelRecord
    dropped_params: tuple[str, ...]
    price: Price
    # Output tokens of each choice.
    limit: int
    # As gateway.admission.cost_bound.rates returns them.
    prompt_pusd: int
    token_pusd: int

    @classmethod
    def of(cls, call: ChatCall, model: ModelRecord, dropped: tuple[str, ...]) -> Candidate:
        price = max_price(model)
        prompt_pusd, token_pusd = rates(call, model, price)
        return cls(
            call=call,
            model=model,
            dropped_params=dropped,
            price=price,
            limit=limit_of(call, model),
            prompt_pusd=prompt_pusd,
            token_pusd=token_pusd,
        )

    @property
    def want_nusd(self) -> int:
        """What a hold must have to cover the worst case."""
        return to_nusd_up(self.prompt_pusd + self.limit * self.token_pusd)

    def affordable(self, hold_nusd: int) -> int:
        """Return how many output tokens of each choice a hold covers; below 1 is no answer."""
        if self.want_nusd <= hold_nusd:
            return self.limit
        if not self.token_pusd:
            return 0
        return affordable_tokens(hold_nusd, self.prompt_pusd, self.token_pusd)


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
        call: ChatCall,
        head: RequestHead,
        profile: Profile,
        model: ModelRecord,
    ) -> Sequence[Candidate]:
        """Return the models that may serve in this one's place: those that the call names, or
        else the model's own. call: before it got this model's prompt.

        Raises as resolve_model does for a name of the call's.
        """
        key, snapshot = caller.key, self._snapshot.current()

        def find(name: str) -> ModelRecord:
            return resolve_model(snapshot, key, name, hides=profile.hides_models)

        if call.facts.fallback_names is None:
            others = list(chained_models(snapshot, key, model))
        else:
            others = list(named_models(call, find))
        if head.disables_fallback:
            return ()
        found = []
        for one in candidates(call, model, others, self._check):
            if one.model.prompt is not None:
                try:
                    own = await self._assemble(call, one.model, caller, head)
                except GatewayError:
                    continue
                one = Candidate.of(own, one.model, one.dropped_params)
            found.append(one)
        return found


def named_models(call: ChatCall, find: Callable[[str], ModelRecord]) -> Iterator[ModelRecord]:
    """Yield the models of the caller's own list. Raises what `find` does, with their place."""
    for index, name in enumerate(call.facts.fallback_names or ()):
        try:
            found = find(name)
        except GatewayError as error:
            error.param = f"models[{index}]"
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
    call: ChatCall, asked: ModelRecord, models: Iterable[ModelRecord], check: Check
) -> list[Candidate]:
    """Return those that can do what the call needs, each once and never the one asked for."""
    found: dict[str, Candidate] = {}
    for model in models:
        if model.name == asked.name or model.name in found or not model.targets:
            continue
        try:
            dropped = check(call, model)
        except GatewayError:
            continue
        found[model.name] = Candidate.of(call, model, dropped)
    return list(found.values())


def fallback_models_within(
    hold_nusd: int, call: ChatCall, found: Sequence[Candidate]
) -> tuple[FallbackModel, ...]:
    """Return those of which the hold covers an answer, limited to what it covers."""
    fallback_models = []
    for one in found:
        affordable = one.affordable(hold_nusd)
        if affordable < 1:
            continue
        model = one.model
        cap, sent_cap = cap_of(call, one.limit, affordable)
        fallback_models.append(
            FallbackModel(
                model=model.name,
                targets=model.targets,
                price=one.price,
                limit_tokens=cap * call.payload.n,
                cap_tokens=sent_cap,
                dropped_params=one.dropped_params,
                call=one.call,
            )
        )
    return tuple(fallback_models)
