"""What one connection does with the body of a request: how long it may be, what it takes of the
memory for bodies, and in how many pieces it may come."""

from __future__ import annotations

from abc import abstractmethod
from functools import partial

from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT

from gateway.core.errors import GatewayError, RequestError
from gateway.core.overload import overloaded
from gateway.edge.body_budget import COUNTED_BYTES, NO_ROOM
from gateway.edge.body_limits import STREAMED_BYTES, UNLIMITED
from gateway.edge.limits import LEAST_PIECE_BYTES, MAX_SMALL_PIECES
from gateway.edge.reply import Reply
from gateway.edge.reply_protocol import ReplyProtocol
from gateway.http.body import too_large


class BodyProtocol(ReplyProtocol):
    """One connection with rules for bodies."""

    _limit_bytes = UNLIMITED
    _body_bytes = _chunk_bytes = _framing_bytes = _pieces = 0

    @abstractmethod
    def _refuse(self, error: GatewayError) -> None:
        """Answer the request that is arriving with an error, after those before it."""

    @abstractmethod
    def _is_receiving(self, cycle: Reply) -> bool:
        """True when it is this request's body that is arriving."""

    def _limit_body(self, fields: dict[bytes, bytes]) -> None:
        """Look up how long the body may be. Raises PayloadTooLarge for one that says it is longer.

        Where none is taken, the application is told that there is none, and answers.
        """
        length_bytes = int(fields.get(b"content-length", 0))
        if not length_bytes and b"transfer-encoding" not in fields:
            return
        cycle = self.cycle
        limit_bytes = self.limiter.find_body_limit(cycle.scope["method"], cycle.scope["path"])
        if not limit_bytes:
            cycle.more_body = cycle.waiting_for_100_continue = False
            cycle.message_event.set()
        elif length_bytes > limit_bytes:
            raise too_large(limit_bytes)
        cycle.is_streamed = limit_bytes == STREAMED_BYTES
        self._limit_bytes = limit_bytes

    def on_body(self, body: bytes) -> None:
        self._body_bytes += len(body)
        self._framing_bytes = -self._chunk_bytes  # this chunk is none of it (_wait_for_more)
        cycle = self.cycle
        if cycle.response_complete:
            return
        self._pieces += 1
        if self._pieces > MAX_SMALL_PIECES:
            self._check_pieces()
        if self._body_bytes > self._limit_bytes:
            self._refuse_or_drop_body()
            return
        if self._body_bytes > COUNTED_BYTES:
            self._count_body(cycle, len(body))
        cycle.body += body
        cycle.message_event.set()

    def _refuse_or_drop_body(self) -> None:
        """Raises PayloadTooLarge where a body is taken. Where none is, it is kept nowhere, and no
        more of it is read than a small one has before the answer is out."""
        if self._limit_bytes:
            raise too_large(self._limit_bytes)
        if self._body_bytes > HIGH_WATER_LIMIT:
            self.flow.pause_reading()

    def _count_body(self, cycle: Reply, size_bytes: int) -> None:
        """Take memory for what has arrived of a body. Raises Overloaded where there is none left.

        Before it is known whose a body is, no more of it is read than has come already.
        """
        hold = cycle.hold
        if hold is None:
            subnet = self.limiter.subnet_of(self.client[0] if self.client else "", cycle.scope)
            hold = self.limiter.body_budget.open(
                cycle.body_owner or subnet, partial(self._give_up, cycle)
            )
            cycle.hold = hold
            size_bytes = self._body_bytes
            if cycle.body_owner:
                cycle.check_length(hold)
        hold.grow(size_bytes)
        if not cycle.body_owner or len(cycle.body) + size_bytes > HIGH_WATER_LIMIT:
            self.flow.pause_reading()

    def _check_pieces(self) -> None:
        """Raise RequestError for a body in very many very small pieces: each costs the same."""
        if self._pieces > MAX_SMALL_PIECES + self._body_bytes // LEAST_PIECE_BYTES:
            raise RequestError("The request body arrives in chunks that are too small.")

    def _give_up(self, cycle: Reply) -> None:
        """Refuse the request whose body is arriving: others have less, and need the memory."""
        if self._is_receiving(cycle):
            self._refuse(overloaded(NO_ROOM))


def release_unclaimed(cycle: Reply) -> None:
    """Give back what a body takes that no application has, or one that says nothing of it."""
    if not cycle.body_owner:
        cycle.release_body()
