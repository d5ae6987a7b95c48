"""Calls as an endpoint reads them, for what is tested without one."""

from __future__ import annotations

from gateway.core.call import Call, CallFacts
from gateway.core.chat import ChatCall, ChatRequest


def chat_call(
    model: str, *, n: int = 1, max_tokens: int | None = None, prompt_tokens_bound: int = 0
) -> ChatCall:
    """Return a buffered call without messages."""
    facts = CallFacts(
        model=model,
        stream=False,
        user="",
        episode_id="",
        idempotency_key="",
        requires_parameters=False,
        body=b"",
    )
    payload = ChatRequest(
        fields={},
        n=n,
        messages=(),
        max_tokens=max_tokens,
        prompt_tokens_bound=prompt_tokens_bound,
    )
    return Call(facts, payload)
