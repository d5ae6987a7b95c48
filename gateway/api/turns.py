"""Django's requests take turns. Each has a thread of its own, and with it a connection to the
database: a thousand at once would leave the calls to models, which have neither, no time to run.
"""

from __future__ import annotations

from asyncio import iscoroutinefunction
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.utils.decorators import sync_and_async_middleware

from gateway.admission.address import client_subnet, find_caller
from gateway.api.mount import SCOPE_KEY
from gateway.core.turns import Turns, beside_calls
from gateway.http.head import read_head
from gateway.outbound.networks import read_networks

MOST = 16
MOST_OF_ONE = 8  # of one workspace, or of one address that shows no key
# Pages compute more than the API's answers, and people wait more easily than calls.
MOST_PAGES = 3
MOST_PAGES_OF_ONE = 2  # of one address

Answer = Callable[[Any], Any]


@sync_and_async_middleware
def take_turns(answer: Answer) -> Answer:
    """Middleware, the first: a request's body has been read by then, its views have not begun."""
    if not iscoroutinefunction(answer):
        return answer
    turns, page_turns = Turns(MOST, MOST_OF_ONE), Turns(MOST_PAGES, MOST_PAGES_OF_ONE)
    trusted = tuple(read_networks(settings.TRUSTED_PROXIES))

    def owner_of(scope: dict[str, Any]) -> str:
        inbound = scope.get(SCOPE_KEY)
        if inbound is not None and inbound.caller is not None:
            return str(inbound.caller.key.workspace_id)
        address = find_caller(inbound.head if inbound else read_head(scope), trusted)
        return "" if address is None else client_subnet(address)

    async def answer_in_turn(request: HttpRequest) -> Any:
        scope = getattr(request, "scope", None)
        if scope is None:  # of a client in this process, whose thread it is
            return await answer(request)
        which = turns if SCOPE_KEY in scope else page_turns
        async with which.turn(owner_of(scope)):
            with beside_calls():
                return await answer(request)

    return answer_in_turn
