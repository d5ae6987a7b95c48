"""Requests that came in as Messages requests and go to Anthropic as the caller wrote them.

What is ours is changed, and nothing else: the model's name, the limit, whether it is a stream.
"""

from __future__ import annotations

from collections.abc import Mapping

from gateway.core.call import NativeBody
from gateway.providers.anthropic.thinking import fit_thinking
from gateway.providers.request_body import write_body


def write_native(
    body: NativeBody,
    dropped: tuple[str, ...],
    *,
    max_tokens: int,
    around: Mapping[str, bytes | None],
) -> bytes:
    """Return the body as it goes to the provider. around: fields of the envelope."""
    changed: dict[str, bytes | None] = dict.fromkeys(dropped)
    changed |= {"max_tokens": b"%d" % max_tokens, **around}
    if "thinking" in body.fields and "thinking" not in changed:
        changed["thinking"] = fit_thinking(body.fields["thinking"], max_tokens)
    return write_body(body.fields, changed)
