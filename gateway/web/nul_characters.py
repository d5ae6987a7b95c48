"""No text of PostgreSQL has NUL characters, so nothing is looked for with one."""

from __future__ import annotations

from collections.abc import Callable

from asgiref.sync import iscoroutinefunction
from django.http import HttpRequest, HttpResponseBase
from django.utils.decorators import sync_and_async_middleware

NUL = "%00"
REPLACEMENT = "%EF%BF%BD"  # U+FFFD


@sync_and_async_middleware
def replace_nul_characters(answer: Callable[[HttpRequest], HttpResponseBase]) -> object:
    """Middleware: in the query of an address, views read U+FFFD instead."""

    def clean(request: HttpRequest) -> None:
        query = request.META.get("QUERY_STRING", "")
        if NUL in query:
            request.META["QUERY_STRING"] = query.replace(NUL, REPLACEMENT)

    if iscoroutinefunction(answer):

        async def answer_async(request: HttpRequest) -> HttpResponseBase:
            clean(request)
            return await answer(request)  # type: ignore[no-any-return]

        return answer_async

    def answer_sync(request: HttpRequest) -> HttpResponseBase:
        clean(request)
        return answer(request)

    return answer_sync
