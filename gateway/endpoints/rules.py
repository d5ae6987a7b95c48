"""What an installation asks of requests, beside what their types say."""

from __future__ import annotations

import msgspec


class Rules(msgspec.Struct, frozen=True):
    """For all endpoints."""

    # How many stop sequences a call may have.
    stop_sequences: int = 4
    # Every answer of a tool has to name a call of it that stands before.
    pairs_tools: bool = False
    # Providers get `user` as a keyed hash with this secret; empty sends it as it is.
    user_secret: bytes = b""
    # The longest sound that a call may have.
    audio_s: int = 4 * 3_600


USUAL = Rules()
