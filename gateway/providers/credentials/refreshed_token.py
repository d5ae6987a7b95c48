"""A token that is there before it is needed: asked for once by all who wait, ahead of its end."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable

from gateway.core.errors import ProviderAuth
from gateway.providers.credentials.token import Token, TokenError

logger = logging.getLogger(__name__)

# A new one is asked for so long before the end, or at half its life if that is short.
AHEAD_S = 300.0
# It is not sent any more so shortly before its end.
MARGIN_S = 5.0
# How long a call waits for it, and how long asking may take.
WAIT_S = 10.0
FETCH_S = 10.0
PAUSE_S, MAX_PAUSE_S = 1.0, 60.0
# One that a provider refuses before its end is replaced so often at most.
REPLACE_EVERY_S = 5.0
NOT_IN_TIME = "the token endpoint does not answer in time"


class NoToken(ProviderAuth):
    """There is none to show, so the provider was not asked."""


class RefreshedToken:
    """Made of one credential. For one event loop.

    name: what the log calls it. fetch: asks for another. note: is told why there is none, and
    nothing once there is one.
    """

    def __init__(
        self, name: str, fetch: Callable[[], Awaitable[Token]], note: Callable[[str], None]
    ) -> None:
        self._name = name
        self._fetch = fetch
        self._note = note
        self._value = ""
        self._ends_at = 0.0
        self._fetching: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._pause_s = PAUSE_S
        self._problem = ""
        self._asks_again_at = 0.0
        self._replaced_at = -REPLACE_EVERY_S
        self._is_closed = False

    @property
    def value(self) -> str:
        """The token, empty where there is none that holds."""
        return self._value if time.monotonic() < self._ends_at else ""

    def start(self) -> None:
        """Ask for the first one."""
        if not self.value:
            self._begin()

    async def wait(self) -> str:
        """Return the token. Raises NoToken, at once while it is known that there is none to be
        had."""
        if self._fetching is not None or time.monotonic() >= self._asks_again_at:
            try:
                await asyncio.wait_for(asyncio.shield(self._begin()), WAIT_S)
            except TimeoutError:
                raise self._refusal(NOT_IN_TIME) from None
        if not self.value:
            raise self._refusal(self._problem or "there was none")
        return self.value

    async def replace(self, refused: str) -> str:
        """Return another token than the one that a provider has refused, empty where there is none:
        of a provider that refuses every token it is not asked for each time."""
        now = time.monotonic()
        if self.value == refused and now - self._replaced_at >= REPLACE_EVERY_S:
            self._replaced_at, self._asks_again_at = now, 0.0
            self._begin()
        if self._fetching is not None:
            try:
                await asyncio.wait_for(asyncio.shield(self._fetching), WAIT_S)
            except TimeoutError:
                return ""
        return "" if self.value == refused else self.value

    def close(self) -> None:
        self._is_closed = True
        if self._timer is not None:
            self._timer.cancel()
        if self._fetching is not None:
            self._fetching.cancel()

    def _begin(self) -> asyncio.Task[None]:
        """Return the one task that asks, begun now unless it runs."""
        if self._fetching is None:
            self._fetching = asyncio.ensure_future(self._run())
        return self._fetching

    async def _run(self) -> None:
        asked_at = time.monotonic()
        try:
            async with asyncio.timeout(FETCH_S):
                token = await self._fetch()
        except TimeoutError:
            self._failed(NOT_IN_TIME)
        except TokenError as error:
            self._failed(str(error))
        except Exception:
            logger.exception("The token of %s cannot be made.", self._name)
            self._failed("making the token failed")
        else:
            self._value, self._ends_at = token.value, asked_at + token.life_s - MARGIN_S
            self._pause_s, self._asks_again_at = PAUSE_S, 0.0
            if self._problem:
                self._problem = ""
                self._note("")
            self._ask_in(max(token.life_s - AHEAD_S, token.life_s / 2))
        finally:
            self._fetching = None

    def _failed(self, problem: str) -> None:
        """Ask again after a pause; until then nobody else does."""
        logger.warning("There is no new token of %s: %s.", self._name, problem)
        if problem != self._problem:
            self._problem = problem
            self._note(problem)
        self._asks_again_at = time.monotonic() + self._pause_s
        self._ask_in(self._pause_s)
        self._pause_s = min(2 * self._pause_s, MAX_PAUSE_S)

    def _ask_in(self, seconds: float) -> None:
        if self._is_closed:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(seconds, self._begin)

    def _refusal(self, problem: str) -> NoToken:
        return NoToken(
            f"The gateway has no access token for the provider: {problem}.",
            detail=f"{self._name}: {problem}",
        )
