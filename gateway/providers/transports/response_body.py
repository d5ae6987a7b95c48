"""Bodies of answers, read whole: so much of one, and of all of them together.

Large ones share what memory there is for them. When it is used up, one of them reads on to its end
or to the limit of one, and the others wait with what they have, unread bytes left in their sockets.
"""

from __future__ import annotations

import asyncio
from io import BytesIO

from gateway.core.errors import ProviderUnavailable, StreamBroken
from gateway.providers.transports.base import UpstreamResponse

MAX_ERROR_BYTES = 64 * 1024
MAX_ANSWER_BYTES = 64 * 1024 * 1024
# So much of an answer counts for nothing; of the rest of all answers there is so much.
SMALL_BYTES = 256 * 1024
MAX_ANSWERS_BYTES = 64 * 1024 * 1024
COMPRESSED = "The provider sent a compressed response, which was not requested."
TOO_LARGE = "The provider's response is too large."


class AnswerMemory:
    """What large answers take, in bytes. A holder is any object of its own. For one loop."""

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._used_bytes = 0
        self._first: object = None
        self._waiting: list[asyncio.Future[None]] = []

    async def take(self, holder: object, size_bytes: int) -> None:
        """Wait until there is room for so much more. One of those who wait never does."""
        while self._used_bytes + size_bytes > self._limit_bytes:
            if self._first is None:
                self._first = holder
            if self._first is holder:
                break
            turn = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            try:
                await turn
            finally:
                if turn in self._waiting:
                    self._waiting.remove(turn)
        self._used_bytes += size_bytes

    def give_back(self, holder: object, size_bytes: int) -> None:
        self._used_bytes -= size_bytes
        if self._first is holder:
            self._first = None
        waiting, self._waiting = self._waiting, []
        for turn in waiting:
            if not turn.done():
                turn.set_result(None)


_memory = AnswerMemory(MAX_ANSWERS_BYTES)


async def read_body(response: UpstreamResponse, limit_bytes: int = MAX_ANSWER_BYTES) -> bytes:
    """Return the whole body. Raises ProviderUnavailable when it is compressed or too large."""
    if response.is_encoded:
        raise ProviderUnavailable(COMPRESSED)
    if (short := response.take_whole()) is not None:
        return short
    # It grows in place: parts in a list would be joined to a copy, and leave many small holes.
    whole = BytesIO()
    taken_bytes = 0
    try:
        chunk = await response.read()
        if len(chunk) <= SMALL_BYTES:
            first, chunk = chunk, await response.read()
            if not chunk:
                return first
            whole.write(first)
        while chunk:
            whole.write(chunk)
            size = whole.tell()
            if size > SMALL_BYTES:
                if size > limit_bytes or (not taken_bytes and is_longer(response, limit_bytes)):
                    raise ProviderUnavailable(TOO_LARGE)
                await _memory.take(whole, len(chunk))
                taken_bytes += len(chunk)
            chunk = await response.read()
        return whole.getvalue()
    except response.broken_by as error:
        raise StreamBroken("The provider's response ended early.", detail=repr(error)) from error
    finally:
        if taken_bytes:
            _memory.give_back(whole, taken_bytes)


def is_longer(response: UpstreamResponse, limit_bytes: int) -> bool:
    """True for an answer that says itself that it is longer."""
    declared = response.headers.get("content-length", "")
    return declared.isdecimal() and int(declared[:20]) > limit_bytes


async def read_error_body(response: UpstreamResponse) -> bytes:
    """Return the start of an error's body; one that breaks off is as good as it is."""
    body = b""
    try:
        while len(body) < MAX_ERROR_BYTES and (chunk := await response.read()):
            body += chunk
    except response.broken_by:
        pass
    return body[:MAX_ERROR_BYTES]
