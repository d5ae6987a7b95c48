"""Processors that a workspace has made mandatory: a caller can add others, and take none away."""

from __future__ import annotations

from gateway.core.call import AnyCall
from gateway.core.chat import ChatRequest
from gateway.core.processor_errors import ProcessorFailure
from gateway.core.processor_rules import ProcessorRules
from gateway.processors.registry import PROCESSORS


def require_processors(call: AnyCall, rules: ProcessorRules, *, is_model_local: bool) -> AnyCall:
    """Return the call with the processors that it must go through, besides those that it names.

    Raises ProcessorRejected for a call of an operation that one of them does not process, and
    ProcessorFailure where this program does not have one of them.
    """
    if not rules.required:
        return call
    for name in rules.required:
        if name not in PROCESSORS:
            raise ProcessorFailure(f"The mandatory processor {name} is not installed.")
    if isinstance(call.payload, ChatRequest):
        names = tuple(dict.fromkeys((*call.payload.processors, *rules.required)))
        # As with processors that the caller names: no provider gets the caller's own bytes.
        return call.with_payload(processors=names, native=None)
    for name in rules.required:
        call = PROCESSORS[name].require(call, is_model_local=is_model_local)
    return call
