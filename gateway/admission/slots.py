"""How many calls at once: places for those that run, and a line for those that wait.

Used from one event loop only. Whoever leaves the line, for whatever reason, leaves nothing behind:
a place that was given to somebody who had just left goes to the next.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from functools import partial

from gateway.core.errors import CallerLeft

HangUp = Callable[[], Awaitable[None]]
Turn = asyncio.Future[None]


class Slots:
    """At most `most` calls at a time; the others wait in the order they came."""

    __slots__ = ("_line", "most", "taken")

    def __init__(self, most: int) -> None:
        self.most = most
        self.taken = 0
        self._line: deque[Turn] = deque()

    @property
    def waiting(self) -> int:
        return len(self._line)

    def try_take(self) -> bool:
        """Take a place if one is free. It never is while somebody waits: see _call_up."""
        if self.taken >= self.most:
            return False
        self.taken += 1
        return True

    async def take(self, within_s: float, wait_for_hang_up: HangUp) -> None:
        """Wait for a place at the end of the line, and take it.

        Raises TimeoutError when there was none in time, CallerLeft as soon as wait_for_hang_up
        returns, and what `dismiss` was given. Safe to cancel.
        """
        loop = asyncio.get_running_loop()
        turn: Turn = loop.create_future()
        self._line.append(turn)
        timer = loop.call_later(within_s, _fail, turn, TimeoutError())
        listener = asyncio.ensure_future(wait_for_hang_up())
        listener.add_done_callback(partial(_leave_with_caller, turn))
        try:
            await turn
        except BaseException:
            self._leave(turn)
            raise
        finally:
            timer.cancel()
            listener.cancel()

    def give_back(self) -> None:
        """End a call's place; the first in line gets it."""
        self.taken -= 1
        self._call_up()

    def resize(self, most: int) -> None:
        """Obey another limit. Fewer places than are taken become free one by one."""
        self.most = most
        self._call_up()

    def dismiss(self, make_reason: Callable[[], Exception]) -> None:
        """Send everybody in line away."""
        for turn in self._line:
            _fail(turn, make_reason())

    def _call_up(self) -> None:
        """Give what is free to those in line; called whenever anything becomes free."""
        while self._line and self.taken < self.most:
            turn = self._line.popleft()
            if not turn.done():
                self.taken += 1
                turn.set_result(None)

    def _leave(self, turn: Turn) -> None:
        if turn in self._line:
            self._line.remove(turn)
        # Looked at in any case: a reason that nobody has seen would be logged.
        if turn.done() and not turn.cancelled() and turn.exception() is None:
            self.give_back()


def _fail(turn: Turn, reason: Exception) -> None:
    if not turn.done():
        turn.set_exception(reason)


def _leave_with_caller(turn: Turn, listener: asyncio.Future[None]) -> None:
    if not listener.cancelled():
        listener.exception()  # looked at, as above
        _fail(turn, CallerLeft())
