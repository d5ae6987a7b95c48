"""NUL characters in the query of a page's address mean nothing, and PostgreSQL takes none."""

from __future__ import annotations

from collections.abc import Callable

from asgiref.sync import iscoroutinefunction
from django.http import HttpRequest, HttpResponseBase
from django.utils.decorators import sync_and_async_middleware

NUL = "%00"


@sync_and_async_middleware
def drop_nul_characters(answer: Callable[[HttpRequest], HttpResponseBase]) -> object:
    """Middleware: views read the query without them."""

    def drop(request: HttpRequest) -> None:
        query = request.META.get("QUERY_STRING", "")
        if NUL in query:
            request.META["QUERY_STRING"] = query.replace(NUL, "")

    if iscoroutinefunction(answer):

        async def answer_async(request: HttpRequest) -> HttpResponseBase:
            drop(request)
            return await answer(request)  # type: ignore[no-any-return]

        return answer_async

    def answer_sync(request: HttpRequest) -> HttpResponseBase:
        drop(request)
        return answer(request)

    return answer_sync
