"""How long each step of a call may take, and which call has taken longer."""

from __future__ import annotations

from dataclasses import dataclass

from gateway.core.errors import CallerStalled, CallTimeout, GatewayError, ProviderTimeout
from gateway.streaming.live_call import LiveCall


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamTimeouts:
    """How long each step of a call may take, in seconds (gateway contract, section 8.1;
    STREAM_TIMEOUTS in gateway.settings)."""

    # Connecting to a provider.
    connect_s: float
    # Until the first event of a stream, and between two events of it.
    first_byte_s: float
    idle_s: float
    # Between two pieces of output, whatever else the provider sends.
    output_s: float
    # The whole of a buffered call, and of a streamed one.
    total_s: float
    total_stream_s: float
    # How long a caller may leave unread what is written to it.
    stall_s: float
    # How long nothing is written to a streaming caller before a keep-alive is.
    keep_alive_s: float


def find_overdue(live: LiveCall, timeouts: StreamTimeouts, now: float) -> GatewayError | None:
    """Return why the call must not wait any longer, or None."""
    if live.caller.writing_since:
        if now - live.caller.writing_since > timeouts.stall_s:
            if not live.outlives_caller:
                return CallerStalled()
            live.help(live.caller.cut())
        return None
    total_s = timeouts.total_stream_s if live.is_stream else timeouts.total_s
    if now - live.started_at > total_s:
        return CallTimeout(f"The call took longer than {total_s:g} s.")
    return _find_silent(live, timeouts, now) if live.is_stream and live.asked_at else None


def _find_silent(live: LiveCall, timeouts: StreamTimeouts, now: float) -> GatewayError | None:
    """Return why a stream's provider must not be waited for any longer, or None."""
    meter = live.meter
    if meter is not None and meter.loop is not None and meter.loop.tools_since_ns:
        # Tools run, each within its own time: what follows is asked for anew.
        live.asked_at, live.heard_at = now, 0.0
        return None
    # Output that is no text is not looked at piece by piece (gateway.streaming.relay).
    if meter is not None and meter.other_outputs != live.other_outputs:
        live.other_outputs, live.output_at = meter.other_outputs, now
    if not live.heard_at:
        if now - live.asked_at > timeouts.first_byte_s:
            return ProviderTimeout(f"The provider sent nothing for {timeouts.first_byte_s:g} s.")
    elif now - live.heard_at > timeouts.idle_s:
        return ProviderTimeout(f"The provider stopped sending for {timeouts.idle_s:g} s.")
    elif now - max(live.output_at, live.asked_at) > timeouts.output_s:
        return ProviderTimeout(f"The provider sent no output for {timeouts.output_s:g} s.")
    return None
