"""The spans of a call, made of its record: one of the call, and one of each attempt at a provider.

Nothing that callers or providers say is in them, no user and no address.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping
from typing import NamedTuple
from uuid import UUID

from opentelemetry.context import Context
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.sampling import Decision, Sampler
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import (
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    TraceFlags,
    get_current_span,
)
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

import gateway
from gateway.core.call_identity import CallIdentity
from gateway.journal.record import Refused, Settled
from gateway.telemetry import names

NS_PER_US = 1_000
NS_PER_S = 10**9
SCOPE = InstrumentationScope("tollhouse", gateway.__version__)
SAMPLED = TraceFlags(TraceFlags.SAMPLED)

Attributes = dict[str, str | int | tuple[str, ...]]


class Place(NamedTuple):
    """Where a span stands: its own ids, and its parent's."""

    context: SpanContext
    parent: SpanContext | None


class Times(NamedTuple):
    """Since the epoch."""

    start_ns: int
    end_ns: int


class SpanMaker:
    """resource: the process. sampler: which calls have a trace."""

    def __init__(self, resource: Resource, sampler: Sampler) -> None:
        self._resource = resource
        self._sampler = sampler
        self._traceparent = TraceContextTextMapPropagator()

    def spans_of(self, record: Settled | Refused) -> Iterator[ReadableSpan]:
        """Yield the spans of a call, none where it is not sampled."""
        place = self._place(record.identity)
        if place is None:
            return
        if isinstance(record, Refused):
            yield self._refused(record, place)
        else:
            yield from self._settled(record, place)

    def _settled(self, record: Settled, place: Place) -> Iterator[ReadableSpan]:
        receipt, served = record.receipt, record.served
        operation = names.operation_of(record.identity.endpoint)
        admitted_ns = int(record.at * NS_PER_S)
        start_ns = admitted_ns - (receipt.admit_us + receipt.queued_us) * NS_PER_US
        times = Times(start_ns, start_ns + receipt.total_us * NS_PER_US)
        yield self._span(
            f"{operation} {served.model}", SpanKind.SERVER, place, times, _outcome(record)
        )
        start_ns = admitted_ns
        for attempt in record.attempts:
            times = Times(start_ns, start_ns + attempt.us * NS_PER_US)
            start_ns = times.end_ns
            attributes: Attributes = {
                names.OPERATION: operation,
                names.PROVIDER: attempt.provider,
                names.REQUEST_MODEL: attempt.model,
                names.HTTP_STATUS: attempt.status,
                names.ERROR: attempt.code,
            }
            below = Place(_context(place.context.trace_id), place.context)
            name = f"{operation} {attempt.model}"
            yield self._span(name, SpanKind.CLIENT, below, times, attributes)

    def _refused(self, record: Refused, place: Place) -> ReadableSpan:
        end_ns = int(record.at * NS_PER_S)
        attributes = _identity(record.identity) | {
            names.HTTP_STATUS: record.http_status,
            names.STATUS: "refused",
            names.ERROR: record.error_code,
            names.REFUSED_BY: _step(record),
        }
        name = names.operation_of(record.identity.endpoint)
        times = Times(end_ns - record.total_us * NS_PER_US, end_ns)
        return self._span(name, SpanKind.SERVER, place, times, attributes)

    def _place(self, identity: CallIdentity) -> Place | None:
        """Return where the call's span stands: below the span that the caller named, or in a trace
        whose id is that of the call. None where it is not sampled."""
        carrier = {"traceparent": identity.traceparent} if identity.traceparent else {}
        above = self._traceparent.extract(carrier, Context())
        parent = get_current_span(above).get_span_context()
        call = UUID(identity.call_id).int
        # A ratio goes by the lower half of the id, of which the first two bits are the same in
        # every UUID.
        trace_id = parent.trace_id if parent.is_valid else call << 2
        result = self._sampler.should_sample(above, trace_id, identity.endpoint, SpanKind.SERVER)
        if result.decision is not Decision.RECORD_AND_SAMPLE:
            return None
        if parent.is_valid:
            return Place(_context(parent.trace_id), parent)
        return Place(_context(call), None)

    def _span(
        self,
        name: str,
        kind: SpanKind,
        place: Place,
        times: Times,
        attributes: Mapping[str, str | int | tuple[str, ...]],
    ) -> ReadableSpan:
        error = attributes.get(names.ERROR)
        return ReadableSpan(
            name=name,
            context=place.context,
            parent=place.parent,
            resource=self._resource,
            attributes={name: value for name, value in attributes.items() if value != ""},
            kind=kind,
            status=Status(StatusCode.ERROR, str(error)) if error else Status(),
            start_time=times.start_ns,
            end_time=times.end_ns,
            instrumentation_scope=SCOPE,
        )


def _context(trace_id: int) -> SpanContext:
    """Return the ids of another span of the trace."""
    span_id = random.getrandbits(64) or 1
    return SpanContext(trace_id, span_id, is_remote=False, trace_flags=SAMPLED)


def _identity(identity: CallIdentity) -> Attributes:
    return {
        names.OPERATION: names.operation_of(identity.endpoint),
        names.REQUEST_MODEL: identity.requested_model,
        names.CALL: identity.call_id,
        names.WORKSPACE: identity.workspace_id,
        names.KEY: identity.key_id,
        names.ENDPOINT: identity.endpoint,
    }


def _outcome(record: Settled) -> Attributes:
    receipt, served, usage = record.receipt, record.served, record.receipt.usage
    reasons = {names.FINISH_REASONS: (served.finish_reason,)} if served.finish_reason else {}
    return (
        _identity(record.identity)
        | {
            names.PROVIDER: served.provider,
            names.RESPONSE_MODEL: served.model,
            names.INPUT_TOKENS: usage.prompt_tokens,
            names.OUTPUT_TOKENS: usage.completion_tokens,
            names.CACHED_TOKENS: usage.cached_tokens,
            names.HTTP_STATUS: record.http_status,
            names.STATUS: receipt.status,
            names.CHARGE_NUSD: receipt.charge_nusd,
            names.FALLBACK_FROM: served.fallback_from,
            names.ERROR: record.error_code,
        }
        | reasons
    )


def _step(record: Refused) -> str:
    return str(json.loads(record.refusal)["step"]) if record.refusal else ""
