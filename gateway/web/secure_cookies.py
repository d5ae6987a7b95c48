"""Cookies of an answer that goes by HTTPS are never sent in the clear afterwards."""

from __future__ import annotations

from collections.abc import Callable

from asgiref.sync import iscoroutinefunction
from django.http import HttpRequest, HttpResponseBase
from django.utils.decorators import sync_and_async_middleware


@sync_and_async_middleware
def secure_cookies(answer: Callable[[HttpRequest], HttpResponseBase]) -> object:
    """Middleware: every cookie is Secure where the request came by HTTPS, also when only a proxy
    knows that and no setting (gateway.edge.https)."""

    def mark(request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        if request.is_secure():
            for cookie in response.cookies.values():
                cookie["secure"] = True
        return response

    if iscoroutinefunction(answer):

        async def answer_async(request: HttpRequest) -> HttpResponseBase:
            return mark(request, await answer(request))

        return answer_async

    def answer_sync(request: HttpRequest) -> HttpResponseBase:
        return mark(request, answer(request))

    return answer_sync
