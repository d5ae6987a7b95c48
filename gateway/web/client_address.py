"""Where a page's visitor is: found as for calls to the API, from the peer and trusted proxies."""

from __future__ import annotations

from collections.abc import Callable

from asgiref.sync import iscoroutinefunction
from django.conf import settings
from django.http import HttpRequest, HttpResponseBase
from django.utils.decorators import sync_and_async_middleware

from gateway.admission.address import client_subnet, find_caller
from gateway.core.request import RequestHead
from gateway.outbound.permitted_addresses import read_networks

FORWARDED = b"x-forwarded-for"
UNKNOWN = "unknown"


@sync_and_async_middleware
def find_client_address(answer: Callable[[HttpRequest], HttpResponseBase]) -> object:
    """Middleware: REMOTE_ADDR becomes the visitor's address, and request.client_subnet what counts
    as one place (an address, or the /64 of one). Both are "unknown" where a proxy says nothing
    that can be read."""
    trusted = tuple(read_networks(settings.TRUSTED_PROXIES))

    def find(request: HttpRequest) -> None:
        said = request.META.get("HTTP_X_FORWARDED_FOR", "").encode("latin-1", "replace")
        head = RequestHead(
            headers=[(FORWARDED, said)],
            peer=request.META.get("REMOTE_ADDR", ""),
            fields={FORWARDED: said},
        )
        address = find_caller(head, trusted)
        request.META["REMOTE_ADDR"] = UNKNOWN if address is None else str(address)
        subnet = UNKNOWN if address is None else client_subnet(address)
        setattr(request, "client_subnet", subnet)  # noqa: B010 - HttpRequest declares no such field

    if iscoroutinefunction(answer):

        async def answer_async(request: HttpRequest) -> HttpResponseBase:
            find(request)
            return await answer(request)  # type: ignore[no-any-return]

        return answer_async

    def answer_sync(request: HttpRequest) -> HttpResponseBase:
        find(request)
        return answer(request)

    return answer_sync
