"""Limits how many of Django's requests run at once.

Each has a thread of its own, and with it a connection to the database: a thousand at once would
leave the calls to models, which have neither, no time to run.
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
from gateway.core.asgi import Scope
from gateway.core.fair_semaphore import FairSemaphore
from gateway.core.switch_interval import short_switch_interval
from gateway.http.head import read_head
from gateway.outbound.permitted_addresses import read_networks

API_LIMIT = 16
API_OWNER_LIMIT = 8  # of one workspace, or of one address that shows no key
# Pages compute more than the API's answers, and people wait more easily than calls.
PAGE_LIMIT = 3
PAGE_OWNER_LIMIT = 2  # of one address

Answer = Callable[[Any], Any]


@sync_and_async_middleware
def limit_concurrency(answer: Answer) -> Answer:
    """Middleware, the first: a request's body has been read by then, its views have not begun."""
    if not iscoroutinefunction(answer):
        return answer
    api_requests = FairSemaphore(API_LIMIT, API_OWNER_LIMIT)
    page_requests = FairSemaphore(PAGE_LIMIT, PAGE_OWNER_LIMIT)
    trusted = tuple(read_networks(settings.TRUSTED_PROXIES))

    def owner_of(scope: Scope) -> str:
        inbound = scope.get(SCOPE_KEY)
        if inbound is not None and inbound.caller is not None:
            return str(inbound.caller.key.workspace_id)
        address = find_caller(inbound.head if inbound else read_head(scope), trusted)
        return "" if address is None else client_subnet(address)

    async def answer_in_turn(request: HttpRequest) -> Any:
        scope = getattr(request, "scope", None)
        if scope is None:  # of a client in this process, whose thread it is
            return await answer(request)
        semaphore = api_requests if SCOPE_KEY in scope else page_requests
        async with semaphore.slot(owner_of(scope)):
            with short_switch_interval():
                return await answer(request)

    return answer_in_turn
