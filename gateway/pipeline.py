"""The life of a call, on one page.

    request → admit → route → prepare → provider → relay → settle → log

Each stage takes what the one before it returned and hands on something new; none reaches
back. Stages are typed in gateway.stages and wired once per process in gateway.wiring.
"""

from __future__ import annotations

from asyncio import CancelledError, current_task
from collections.abc import Sequence
from time import perf_counter_ns

import msgspec

from gateway.call_closer import CallCloser
from gateway.core.call import AnyCall
from gateway.core.call_credentials import take_credentials
from gateway.core.errors import GatewayError, NoUpstreamAvailable, RequestError, ServerStopping
from gateway.core.grant import Grant
from gateway.core.profiles import Profile
from gateway.core.receipt import Attempt
from gateway.core.request import RequestHead
from gateway.endpoints.base import AnyEndpoint
from gateway.snapshot.caller import Caller
from gateway.snapshot.candidate import Candidate
from gateway.snapshot.types import ModelRecord
from gateway.stages import Claim, Connection, Requester, Stages
from gateway.streaming.meter import NS_PER_US, Meter
from gateway.streaming.relay import relay_answer, relay_stream

# Shorter bodies are read at once: handing them to a thread would cost more.
LONG_BODY_BYTES = 256 * 1024


class Admitted(msgspec.Struct, frozen=True):
    """A call that may go on, and all that was found out about it so far."""

    endpoint: AnyEndpoint
    call: AnyCall
    grant: Grant
    model: ModelRecord
    claim: Claim | None


async def admit(
    stages: Stages, endpoint: AnyEndpoint, head: RequestHead, caller: Requester
) -> Admitted | None:
    """Carry a request from its head to its admission.

    Returns None when a request sent again under the same idempotency key got the answer that it
    had, and nothing is to run. Raises GatewayError; the edge decides how to word it.
    """
    known = await identify(stages, head, caller)
    call, claim, hang_up = None, None, caller.wait_for_hang_up
    try:
        caller.profile = profile = stages.choose_profile(head, known)
        stages.screen(known, head, endpoint.scope)
        body = await caller.read_body(known.key.key_id)
        call = await read_call(stages, known, endpoint, body, head, profile)
        model, dropped = stages.choose_model(known, call, profile)
        if call.payload.server_tools or known.key.has_default_tools:
            call = await stages.choose_tools(known, call, model, head.request_id)
            model, dropped = stages.choose_model(known, call, profile)
        if call.payload.processors or known.key.processors is not None:
            call = await stages.process(known, call, head, profile, endpoint, model, hang_up)
        if call.facts.idempotency_key:
            claim = await stages.claim(known, call, head)
            if claim.kept is not None:
                await caller.replay(claim.kept)
                return None
        if call.payload.files or call.payload.media_urls:
            call = await stages.load_files(known, call, endpoint, model, hang_up)
            # That took its time, and it is known now what the files ask of the model.
            known = await identify(stages, head, caller)
            stages.screen(known, head, endpoint.scope)
            model, dropped = stages.choose_model(known, call, profile)
        others: Sequence[Candidate] = ()
        if call.facts.fallback_names is not None or model.fallbacks:
            others = await stages.find_fallbacks(known, call, head, profile, endpoint, model)
        call = call if model.prompt is None else await stages.assemble(call, model, known, head)
        grant = await stages.admit(
            known, call, head, profile, endpoint, model, dropped, others, hang_up
        )
        return Admitted(endpoint, call, grant, model, claim)
    except BaseException as cause:
        # No second name for it: that would hold this frame, and with it the body, in a circle.
        was_stopped = turn_away(stages, endpoint, known, head, call, cause)
        if claim is not None and claim.kept is None:
            await claim.drop()
        if was_stopped:
            raise ServerStopping from None
        raise


async def count_tokens(
    stages: Stages, endpoint: AnyEndpoint, head: RequestHead, caller: Requester
) -> int:
    """Return how many tokens the prompt of a request has, by our own count. Nothing is charged or
    recorded, and no model is asked. Raises GatewayError."""
    known = await identify(stages, head, caller)
    caller.profile = profile = stages.choose_profile(head, known)
    stages.screen(known, head, endpoint.scope)
    body = await caller.read_body(known.key.key_id)
    call = await read_call(stages, known, endpoint, body, head, profile)
    model, _ = stages.choose_model(known, call, profile)
    await stages.count_request(known, model, caller.wait_for_hang_up)
    meter = Meter(head.started_ns, perf_counter_ns())
    meter.target = next(iter(model.targets), None)
    counted = await stages.count(endpoint, call, meter)
    return counted.prompt_tokens


async def read_call(
    stages: Stages,
    known: Caller,
    endpoint: AnyEndpoint,
    body: bytes,
    head: RequestHead,
    profile: Profile,
) -> AnyCall:
    """Return the call that a request is, read in a thread where that takes long, with the stored
    answers that it goes on from."""
    body, credentials = take_credentials(body)
    if len(body) <= LONG_BODY_BYTES:
        call = endpoint.read(body, head, profile)
    else:
        call = await stages.read_in_thread(endpoint, body, head, profile)
    if credentials is not None:
        call = call.with_credentials(credentials)
    return call if call.payload.earlier is None else await stages.recall(known, call)


def turn_away(
    stages: Stages,
    endpoint: AnyEndpoint,
    known: Caller,
    head: RequestHead,
    call: AnyCall | None,
    cause: BaseException,
) -> bool:
    """Log why a call was not admitted. Returns whether it was cancelled: nobody but the server,
    which stops, does that before a call is admitted."""
    was_stopped = isinstance(cause, CancelledError)
    if was_stopped and (task := current_task()) is not None:
        task.uncancel()
    reason = ServerStopping() if was_stopped else cause
    if isinstance(reason, GatewayError):
        if call is not None:
            call.payload.locate(reason)
        if call is None and isinstance(reason, RequestError):
            reason.step = "request"
        total_us = (perf_counter_ns() - head.started_ns) // NS_PER_US
        model = "" if call is None else call.facts.model
        stages.refuse(known, head, reason, endpoint=endpoint, model=model, total_us=total_us)
    return was_stopped


async def identify(stages: Stages, head: RequestHead, caller: Requester) -> Caller:
    """Return who calls. A stranger is refused in the words of the profile it asks for."""
    try:
        known = await stages.identify(head)
    except GatewayError:
        caller.profile = stages.choose_profile(head, None)
        raise
    caller.rates = known.rates
    return known


async def carry(stages: Stages, admitted: Admitted, head: RequestHead, caller: Connection) -> None:
    """Carry an admitted call to its record.

    The first target that answers is relayed, the model's own or one of a model to fall back to;
    a byte sent ends the search. The call is settled and logged exactly once, whether it finishes,
    fails or the caller hangs up. A call under an idempotency key outlives its caller, who will
    ask for the answer again.
    Raises the last refusal when every target was tried, or the first that another target would
    only repeat.
    """
    call, grant, claim = admitted.call, admitted.grant, admitted.claim
    meter = Meter(head.started_ns, perf_counter_ns(), call.payload.processing)
    closer = CallCloser(
        stages=stages,
        meter=meter,
        caller=caller,
        endpoint=admitted.endpoint,
        call=call,
        grant=grant,
        claim=claim,
    )
    outlives = claim is not None
    live = stages.supervisor.enter(caller, grant, outlives_caller=outlives)
    refusal: GatewayError | None = None
    try:
        caller.begin(call, grant, claim)
        for target in stages.route(admitted.model, grant.fallback_models, call):
            try:
                passes = grant.fallback_models
                grant, call = await closer.pass_to(target, refusal) if passes else (grant, call)
                meter.begin_attempt(target)
                meter.exchange = exchange = stages.prepare(call, grant, target, meter)
                if call.facts.stream:
                    covered = (grant.limit_tokens, call.payload.n)
                    await relay_stream(exchange, caller, meter, live, closer.close_well, *covered)
                else:
                    await relay_answer(exchange, caller, meter, closer.close_well)
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
        await closer.close(error)
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
    last.details["attempts"] = [attempt_summary(attempt, model) for attempt in meter.attempts]
    return last


def attempt_summary(attempt: Attempt, model: str) -> dict[str, str | int]:
    """Return what a caller may know of an attempt: what a provider calls the model is ours."""
    return {
        "provider": attempt.provider,
        "model": attempt.fallback or model,
        "code": attempt.code,
        "status": attempt.status,
    }
