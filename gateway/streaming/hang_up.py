"""What a caller's hang-up does: its call is ended, at once or when its usage is known."""

from __future__ import annotations

import asyncio

from gateway.core.errors import CallerLeft
from gateway.streaming.live_call import LiveCall

# A provider counts the tokens of a stream behind its last word: so long that is waited for, though
# the caller has gone.
USAGE_S = 5.0


async def watch_disconnect(live: LiveCall) -> None:
    """Wait until the caller hangs up, then end its call as CallerLeft."""
    await live.caller.wait_for_hang_up()
    if live.awaits_usage:
        live.caller_left = True
        await asyncio.sleep(USAGE_S)
    live.interrupt(CallerLeft())
