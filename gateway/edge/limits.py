"""How much of everything one connection may ask of us, and for how long."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gateway.admission.address import Network

MAX_REQUEST_LINE_BYTES = 8 * 1024
MAX_HEADERS = 100
MAX_HEADER_BYTES = 8 * 1024
MAX_HEAD_BYTES = 32 * 1024
# The event loop hands over at most so much at a time, and heads may lie anywhere in it. So a
# head that has no end is noticed at the latest when it is longer than this.
READ_BYTES = 256 * 1024
MAX_UNFINISHED_HEAD_BYTES = MAX_REQUEST_LINE_BYTES + MAX_HEAD_BYTES + READ_BYTES
# Chunk sizes, their extensions and trailers, between two bytes of a body.
MAX_FRAMING_BYTES = 16 * 1024
# A body may have so many pieces, be they chunks or reads, and beyond them only such as are so long
# on average: each costs the loop as much as a long one.
MAX_SMALL_PIECES = 512
LEAST_PIECE_BYTES = 64
MAX_PIPELINED = 64
LEAST_BODY_BYTES_PER_S = 1024
# After a refusal what still arrives is read and thrown away, or the caller would see a reset
# connection instead of the answer.
LINGER_S = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeLimits:
    """What an installation sets (EDGE and others in gateway.settings)."""

    # From the first byte of a head to its end.
    head_s: float
    # How long a body may pause, and over which time its data rate is measured.
    body_silence_s: float
    body_rate_window_s: float
    # Connections of one address that wait without a request; trusted_proxies may have any number.
    idle_connections: int
    # Errors for one address before further ones wait; 0 is any number.
    refusals_per_s: int
    # The memory for the bodies of all requests (gateway.edge.body_budget).
    body_memory_bytes: int
    # How long running calls may take to end when the server stops.
    drain_s: float
    # Open connections of all addresses.
    connections: int = 1 << 19
    # What the process may use before it refuses requests; 0 is any amount.
    memory_bytes: int = 0
    # As Django's ALLOWED_HOSTS; "*" is any.
    allowed_hosts: Sequence[str] = ("*",)
    # Web pages that may read errors (gateway.edge.cors).
    cors_origins: Sequence[str] = ()
    # The compatibility profile of errors, where nothing names another.
    default_profile: str = "unified"
    trusted_proxies: tuple[Network, ...] = ()
    # The public address is https://, wherever TLS ends.
    is_public_https: bool = False
