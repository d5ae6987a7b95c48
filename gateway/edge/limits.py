"""How much of everything one connection may ask of us, and for how long."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gateway.admission.address import Network
from gateway.edge.body_budget import DEFAULT_BYTES

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
MAX_SMALL_PIECES = 1_024
LEAST_PIECE_BYTES = 64
MAX_PIPELINED = 64
LEAST_BODY_BYTES_PER_S = 1024
# After a refusal what still arrives is read and thrown away, or the caller would see a reset
# connection instead of the answer.
LINGER_S = 10.0


@dataclass(frozen=True, slots=True)
class Limits:
    """What an installation sets. allowed_hosts: as Django's ALLOWED_HOSTS; "*" is any.
    cors_origins: whose pages may read refusals (gateway.edge.cors). default_profile: in whose
    words they are, where nothing names another.

    head_s: from a head's first byte to its end. body_silence_s: a body may pause so long.
    body_pace_s: the stretch over which a body's pace is judged. idle_connections: how
    many of one address may wait without a request; trusted_proxies may have any number.
    is_public_https: the address that people use is https://, whoever speaks TLS.
    refusals_per_s: of one address, before further ones wait; 0 is any number.
    body_memory_bytes: what the bodies of all requests may take (gateway.edge.body_budget).
    connections: how many may be open, of all addresses. memory_bytes: how much the process may
    use before it refuses requests; 0 is any amount. drain_s: how long running calls may take to
    end when the server stops.
    """

    head_s: float = 10
    body_silence_s: float = 15
    body_pace_s: float = 10
    idle_connections: int = 256
    refusals_per_s: int = 250
    body_memory_bytes: int = DEFAULT_BYTES
    connections: int = 1 << 19
    memory_bytes: int = 0
    drain_s: float = 30
    allowed_hosts: Sequence[str] = ("*",)
    cors_origins: Sequence[str] = ()
    default_profile: str = "unified"
    trusted_proxies: tuple[Network, ...] = ()
    is_public_https: bool = False
