"""Runs the processors of a call, each once, before it is admitted."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from gateway.core.admission_steps import at_step
from gateway.core.answer_steps import AnswerStep
from gateway.core.chat import ChatCall
from gateway.core.errors import InsufficientScope
from gateway.processors.registry import PROCESSORS


async def run_processors(call: ChatCall, scopes: frozenset[str]) -> ChatCall:
    """Return the call as the model gets it, with what is to be done with its answer.

    scopes: of the key. Raises InsufficientScope, and what a processor raises.
    """
    wanted = [one for name, one in PROCESSORS.items() if name in call.payload.processors]
    for processor in wanted:
        if processor.scope not in scopes:
            refusal = InsufficientScope(
                f"The API key does not have the scope {processor.scope}.",
                param="inferada.processors",
                details={"required_scope": processor.scope},
            )
            raise at_step(refusal, "parameters")
    options = msgspec.json.decode(call.payload.fields.get("inferada", b"{}"))
    steps: list[AnswerStep] = []
    for processor in wanted:
        call, step = await processor.apply(call, options.get(processor.name) or {})
        if step is not None:
            steps.append(step)
    # What is stored and compared of the request is what its model reads.
    facts = replace(call.facts, body=write_body(call))
    # The first to change the request is the last to change its answer.
    return replace(call, facts=facts).with_payload(answer_steps=tuple(reversed(steps)))


def write_body(call: ChatCall) -> bytes:
    """Return the request as JSON, its fields as they are now."""
    fields = {name: msgspec.Raw(bytes(raw)) for name, raw in call.payload.fields.items()}
    return msgspec.json.encode(fields)
