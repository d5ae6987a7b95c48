"""A caller that has ended its sending half: is it gone, or does it wait for its answer?

Both look alike until something is written to it: who is gone answers with a reset. So a few bytes
are written that mean nothing, and what comes of them is seen when they are written again: an
interim 100 Continue before an answer's head, a comment in a stream of events (docs/adr/0032).
"""

from __future__ import annotations

import asyncio

from gateway.edge.body_limits import CALLS
from gateway.edge.reply import Reply
from gateway.http.sse import KEEP_ALIVE

# The first provokes the reset; the others notice it, one round trip later at the latest.
PROBES_S = (0.0, 0.2, 0.8)
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


def probe(loop: asyncio.AbstractEventLoop, reply: Reply) -> None:
    """Find out whether anybody waits for the reply; its transport ends when nobody does."""
    for delay_s in PROBES_S:
        loop.call_later(delay_s, write_nothing, reply)


def write_nothing(reply: Reply) -> None:
    """Write what does not matter. In other answers that have begun the rest of them will tell."""
    if reply.response_complete or reply.disconnected or reply.transport.is_closing():
        return
    if not reply.response_started:
        reply.transport.write(CONTINUE)
    elif CALLS.fullmatch(reply.scope["path"]):
        reply.write_now(KEEP_ALIVE)
