"""Our own count of a call, for calls whose provider did not report one."""

from __future__ import annotations

import asyncio

from gateway.accounting.prompt import count_prompt
from gateway.accounting.tokenizer import count_output
from gateway.core.attachment_tokens import rules_of
from gateway.core.call import AnyCall
from gateway.core.money import Usage, sum_usage, with_output
from gateway.core.prompt_parts import PromptParts
from gateway.endpoints.base import AnyEndpoint
from gateway.streaming.meter import Meter


async def count_call(endpoint: AnyEndpoint, call: AnyCall, meter: Meter) -> Usage:
    """Return our own count of what a call was."""
    return await asyncio.to_thread(_count_call, endpoint, call, meter)


def _count_call(endpoint: AnyEndpoint, call: AnyCall, meter: Meter) -> Usage:
    output_tokens = count_output(meter.pieces, meter.deltas, meter.chars)
    if per_token := call.payload.bytes_per_token:
        output_tokens += -(-meter.sound_bytes // per_token)
    loop = meter.loop
    if loop is not None and not loop.is_asking and not output_tokens:
        return loop.counted
    if meter.usage_so_far is not None:
        running = with_output(meter.usage_so_far, output_tokens)
    else:
        running = _count_running(endpoint, call, meter, output_tokens)
    return running if loop is None else sum_usage(loop.counted, running)


def _count_running(endpoint: AnyEndpoint, call: AnyCall, meter: Meter, output_tokens: int) -> Usage:
    rules = rules_of("" if meter.target is None else meter.target.native_model)
    loop = meter.loop
    if loop is not None and loop.last is not None:
        # The prompt of the round before, what came of it, and what its tools returned.
        texts = loop.added_texts
        added_tokens = count_prompt(PromptParts(messages=len(texts), texts=texts), rules)
        prompt_tokens = loop.last.prompt_tokens + loop.last.completion_tokens + added_tokens
        return Usage(prompt_tokens, output_tokens)
    parts = endpoint.prompt_parts(call)
    return Usage(count_prompt(parts, rules), output_tokens, others=dict(parts.units))
