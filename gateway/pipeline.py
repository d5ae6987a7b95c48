"""The life of a call, on one page.

    request → admit → route → prepare → provider → relay → settle → log

Each stage takes what the one before it returned and hands on something new; none reaches
back. Stages arrive as plain callables, wired once per process in gateway.wiring.
"""

from __future__ import annotations

from asyncio import CancelledError, current_task
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from time import perf_counter_ns
from typing import Any, Protocol

import msgspec

from gateway.core.chat import ChatCall
from gateway.core.errors import GatewayError, NoUpstreamAvailable, ServerStopping
from gateway.core.events import Answer
from gateway.core.grant import Grant
from gateway.core.money import Usage
from gateway.core.profiles import Profile
from gateway.core.receipt import Attempt, Receipt
from gateway.core.request import RequestHead
from gateway.streaming import relay
from gateway.streaming.call_supervisor import CallerConnection, CallSupervisor
from gateway.streaming.meter import NS_PER_US, Meter
from gateway.streaming.relay import relay_answer, relay_stream


class Caller(relay.Caller, CallerConnection, Protocol):
    """The caller's side of a call (gateway.consumers)."""

    profile: Profile
    rates: Any

    def has_head(self) -> bool: ...

    async def read_body(self, owner: str) -> bytes: ...

    def begin(self, call: ChatCall, grant: Grant, claim: Claim | None) -> None: ...

    def fall_back(self, call: ChatCall, grant: Grant) -> None: ...

    def transcript(self, receipt: Receipt | None, answer: Answer | None) -> str: ...

    def whole(
        self, receipt: Receipt, answer: Answer | None, error: BaseException | None
    ) -> tuple[int, list[tuple[bytes, bytes]], bytes]: ...

    async def replay(self, claim: Claim) -> None: ...


HangUp = Callable[[], Awaitable[None]]
# Shorter bodies are read at once: handing them to a thread would cost more.
LONG_BODY_BYTES = 256 * 1024


class Claim(Protocol):
    """The right to run the request of an idempotency key, or the answer that it had before
    (gateway.stores.idempotency)."""

    kept: Any

    def keep(self, status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> bytes: ...

    async def drop(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Stages:
    """Every decision the gateway makes. settle and log never raise and never wait.

    read_long_call: read_call beside the event loop, for bodies that take long to read.
    bring_files: the call with its files as the model gets them. It and admit, which may have to
    wait, are told how to see the caller hang up. count: our own count of a call, for one whose
    provider reported none.
    """

    choose_profile: Callable[[RequestHead, Any], Profile]
    identify: Callable[[RequestHead], Awaitable[Any]]
    screen: Callable[[Any, RequestHead, str], None]
    read_call: Callable[[bytes, RequestHead, Profile], ChatCall]
    read_long_call: Callable[[bytes, RequestHead, Profile], Awaitable[ChatCall]]
    choose_model: Callable[[Any, ChatCall, Profile], tuple[Any, tuple[str, ...]]]
    bring_files: Callable[[Any, ChatCall, Any, HangUp], Awaitable[ChatCall]]
    claim: Callable[[Any, ChatCall, RequestHead], Awaitable[Claim]]
    find_others: Callable[[Any, ChatCall, RequestHead, Profile, Any], Awaitable[Sequence[Any]]]
    assemble: Callable[[ChatCall, Any, Any, RequestHead], Awaitable[ChatCall]]
    admit: Callable[
        [Any, ChatCall, RequestHead, Profile, Any, tuple[str, ...], Sequence[Any], HangUp],
        Awaitable[Grant],
    ]
    refuse: Callable[[Any, RequestHead, str, GatewayError, int], None]
    route: Callable[[Any, Sequence[Any]], Sequence[Any]]
    prepare: Callable[[ChatCall, Grant, Any], relay.Exchange]
    needs_count: Callable[[Meter, BaseException | None], bool]
    count: Callable[[ChatCall, Meter], Awaitable[Usage]]
    settle: Callable[[Grant, Meter, BaseException | None, Usage], Receipt]
    log: Callable[[Grant, Meter, Receipt, BaseException | None, ChatCall, str, bytes], None]
    supervisor: CallSupervisor


class Admitted(msgspec.Struct, frozen=True):
    """A call that may go on, and all that was found out about it so far."""

    call: ChatCall
    grant: Grant
    model: Any
    claim: Claim | None


async def admit(stages: Stages, head: RequestHead, caller: Caller) -> Admitted | None:
    """Carry a request from its head to its admission.

    Returns None when a request sent again under the same idempotency key got the answer that it
    had, and nothing is to run. Raises GatewayError; the edge decides how to word it.
    """
    known = await identify(stages, head, caller)
    call, claim, hang_up = None, None, caller.wait_for_hang_up
    try:
        caller.profile = stages.choose_profile(head, known)
        stages.screen(known, head, "completions")
        body = await caller.read_body(known.key.key_id)
        if len(body) <= LONG_BODY_BYTES:
            call = stages.read_call(body, head, caller.profile)
        else:
            call = await stages.read_long_call(body, head, caller.profile)
        model, dropped = stages.choose_model(known, call, caller.profile)
        if call.facts.idempotency_key:
            claim = await stages.claim(known, call, head)
            if claim.kept is not None:
                await caller.replay(claim)
                return None
        if call.payload.files or call.payload.media_urls:
            call = await stages.bring_files(known, call, model, hang_up)
            # That took its time, and it is known now what the files ask of the model.
            known = await identify(stages, head, caller)
            stages.screen(known, head, "completions")
            model, dropped = stages.choose_model(known, call, caller.profile)
        others: Sequence[Any] = ()
        if call.facts.fallback_names is not None or model.fallbacks:
            others = await stages.find_others(known, call, head, caller.profile, model)
        if model.prompt is not None:
            call = await stages.assemble(call, model, known, head)
        grant = await stages.admit(
            known, call, head, caller.profile, model, dropped, others, hang_up
        )
        return Admitted(call, grant, model, claim)
    except BaseException as cause:
        # No second name for it: that would hold this frame, and with it the body, in a circle.
        was_stopped = turn_away(stages, known, head, call, cause)
        if claim is not None and claim.kept is None:
            await claim.drop()
        if was_stopped:
            raise ServerStopping from None
        raise


def turn_away(
    stages: Stages, known: Any, head: RequestHead, call: ChatCall | None, cause: BaseException
) -> bool:
    """Log why a call was not admitted. Returns whether it was cancelled: nobody but the server,
    which stops, does that before a call is admitted."""
    was_stopped = isinstance(cause, CancelledError)
    if was_stopped and (task := current_task()) is not None:
        task.uncancel()
    reason = ServerStopping() if was_stopped else cause
    if isinstance(reason, GatewayError):
        total_us = (perf_counter_ns() - head.started_ns) // NS_PER_US
        stages.refuse(known, head, "" if call is None else call.facts.model, reason, total_us)
    return was_stopped


async def identify(stages: Stages, head: RequestHead, caller: Caller) -> Any:
    """Return who calls. A stranger is refused in the words of the profile it asks for."""
    try:
        known = await stages.identify(head)
    except GatewayError:
        caller.profile = stages.choose_profile(head, None)
        raise
    caller.rates = known.rates
    return known


async def carry(stages: Stages, admitted: Admitted, head: RequestHead, caller: Caller) -> None:
    """Carry an admitted call to its record.

    The first target that answers is relayed, the model's own or one of a model to fall back to;
    a byte sent ends the search. The call is settled and logged exactly once, whether it finishes,
    fails or the caller hangs up. A call under an idempotency key outlives its caller, who will
    ask for the answer again.
    Raises the last refusal when every target was tried, or the first that another target would
    only repeat.
    """
    call, grant, claim = admitted.call, admitted.grant, admitted.claim
    meter = Meter(head.started_ns, perf_counter_ns())
    tab = Tab(stages, call, grant, meter, caller, claim)
    outlives = claim is not None
    live = stages.supervisor.enter(caller, grant, outlives_caller=outlives)
    refusal: GatewayError | None = None
    try:
        caller.begin(call, grant, claim)
        for target in stages.route(admitted.model, grant.fallback_models):
            grant, call = tab.pass_to(target) if grant.fallback_models else (grant, call)
            meter.begin_attempt(target)
            try:
                meter.exchange = exchange = stages.prepare(call, grant, target)
                if call.facts.stream:
                    covered = (grant.limit_tokens, call.payload.n)
                    await relay_stream(exchange, caller, meter, live, tab.close_well, *covered)
                else:
                    await relay_answer(exchange, caller, meter, tab.close_well)
                return
            except CancelledError:
                refusal = live.explain()
            except GatewayError as error:
                refusal = error
            meter.end_attempt(refusal)
            if meter.has_answered or not refusal.retry_elsewhere:
                raise refusal
        raise explain_all(refusal, meter, admitted.model.name)
    except BaseException as error:
        await live.end()
        await tab.close(error)
        if claim is not None:
            await claim.drop()
        raise
    finally:
        refusal = None  # it has this frame, and with it the body: a circle
        stages.supervisor.leave(live)
        if live.is_interrupted:
            await live.end()


def explain_all(last: GatewayError | None, meter: Meter, model: str) -> GatewayError:
    """Return why no target answered: the last one's refusal, with what came of each.

    model: the one whose targets were tried first.
    """
    if last is None:
        return NoUpstreamAvailable()
    last.details["attempts"] = [told(attempt, model) for attempt in meter.attempts]
    return last


def told(attempt: Attempt, model: str) -> dict[str, Any]:
    """Return what a caller may know of an attempt: what a provider calls the model is ours."""
    return {
        "provider": attempt.provider,
        "model": attempt.fallback or model,
        "code": attempt.code,
        "status": attempt.status,
    }


class Tab:
    """What a call owes: closed once, by its end or by whatever came before its end."""

    __slots__ = ("_call", "_caller", "_claim", "_grant", "_meter", "_receipt", "_stages")

    def __init__(
        self,
        stages: Stages,
        call: ChatCall,
        grant: Grant,
        meter: Meter,
        caller: Caller,
        claim: Claim | None,
    ) -> None:
        self._stages = stages
        self._call = call
        self._grant = grant
        self._meter = meter
        self._caller = caller
        self._claim = claim
        self._receipt: Receipt | None = None

    def pass_to(self, target: Any) -> tuple[Grant, ChatCall]:
        """Return the grant under which the target is to work, and the call: others, which
        everybody is told of, where the target is another model's."""
        if target.model != self._grant.model:
            self._grant, self._call = self._grant.passed_to(target.model)
            self._meter.fallback = self._grant.model
            self._caller.fall_back(self._call, self._grant)
        return self._grant, self._call

    async def close_well(self, answer: Answer | None = None) -> Receipt:
        """Settle a call that came to its end; called before its last bytes are written."""
        return await self.close(None, answer)

    async def close(self, error: BaseException | None, answer: Answer | None = None) -> Receipt:
        """Settle and log, the first time it is called; the same receipt ever after.

        Counting takes a thread, and only a caller that is gone or a provider that
        reported nothing makes it necessary. An interruption meanwhile changes nothing.
        """
        if self._receipt is not None:
            return self._receipt
        stages, meter = self._stages, self._meter
        counted = Usage()
        if stages.needs_count(meter, error) and (error is None or isinstance(error, GatewayError)):
            counted = await stages.count(self._call, meter)
        if error is not None and self._caller.has_head():
            meter.has_answered = True  # it was told 200 with the first keep-alive
        if self._receipt is None:
            receipt = stages.settle(self._grant, meter, error, counted)
            kept = b""
            if self._claim is not None and (error is None or receipt.charge_nusd):
                # A part of the record: neither is ever there without the other. What was charged
                # is not charged again, whatever ended it.
                kept = self._claim.keep(*self._caller.whole(receipt, answer, error))
            said = ""
            if self._grant.stores_bodies:
                said = self._caller.transcript(receipt if error is None else None, answer)
            self._receipt = receipt
            stages.log(self._grant, meter, receipt, error, self._call, said, kept)
        return self._receipt
