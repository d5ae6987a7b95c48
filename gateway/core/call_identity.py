"""Which call it is, whose, and what was asked for: known from its beginning, the same to its end.

A part of each record about the call. The names in quotes are those in the journal.
"""

from __future__ import annotations

from msgspec import Struct, field


class CallIdentity(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """Ids are UUID text; `at` is seconds since the epoch."""

    call_id: str = field(name="i")
    workspace_id: str = field(name="w")
    key_id: str = field(name="k")
    at: float = field(name="t")
    requested_model: str = field(default="", name="m")
    streamed: bool = field(default=False, name="s")
    # Its name. Empty in records of versions that had only chat completions.
    endpoint: str = field(default="", name="p")
    # The caller's own names of the call, its user and its episode.
    client_request_id: str = field(default="", name="c")
    user: str = field(default="", name="u")
    episode_id: str = field(default="", name="e")
    ip: str = field(default="", name="a")
    # The compatibility profile.
    profile: str = field(default="", name="f")
    # The caller's span, where calls have traces (gateway.telemetry).
    traceparent: str = field(default="", name="x")
