"""Page or partial: the one place that decides what an htmx request gets."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils.cache import patch_vary_headers
from django_htmx.middleware import HtmxDetails

from accounts.models import User

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

HTMX_HEADERS = ["HX-Request", "HX-Boosted", "HX-History-Restore-Request"]


class PageRequest(HttpRequest):
    """A signed-in request that has passed HtmxMiddleware."""

    htmx: HtmxDetails
    user: User


def wants_partial(request: PageRequest) -> bool:
    """True when htmx will swap a fragment, not navigate or restore a whole page."""
    htmx = request.htmx
    return bool(htmx) and not htmx.boosted and not htmx.history_restore_request


def render_page(
    request: PageRequest, *, page: str, partial: str, context: DataclassInstance, status: int = 200
) -> HttpResponse:
    """Render `partial` for htmx swaps and `page`, which includes it, for everyone else.

    context: a dataclass whose fields are the template's variables. Both templates get all of
    it, so nothing secret may be in it that the partial would not show.
    """
    template = partial if wants_partial(request) else page
    response = render(request, template, variables(context), status=status)
    patch_vary_headers(response, HTMX_HEADERS)
    return response


def go_to(request: PageRequest, address: str) -> HttpResponse:
    """Lead to another page. htmx would follow a redirect itself and show the page as a fragment."""
    if not request.htmx:
        return HttpResponseRedirect(address)
    return HttpResponse(status=204, headers={"HX-Redirect": address})


def variables(context: DataclassInstance) -> dict[str, Any]:
    """Return the fields of a context by name, one level deep: nested ones stay objects."""
    return {field.name: getattr(context, field.name) for field in fields(context)}
