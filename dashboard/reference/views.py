"""The API reference, rendered from the document that the gateway publishes."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from dashboard.http.htmx import PageRequest, variables
from dashboard.reference.endpoints import Endpoint, Shape, endpoints, shapes


@dataclass(frozen=True)
class ReferenceContext:
    """Variables of dashboard/reference/reference.html. base_url: with the mount."""

    base_url: str
    endpoints: tuple[Endpoint, ...]
    shapes: tuple[Shape, ...]


@login_required
@require_GET
def show_reference(request: PageRequest) -> HttpResponse:
    # It takes memory that most processes never need (gateway.api.openapi_view).
    from gateway.api.openapi import document

    made = document()
    context = ReferenceContext(
        base_url=request.build_absolute_uri("/v1"),
        endpoints=endpoints(made),
        shapes=shapes(made),
    )
    return render(request, "dashboard/reference/reference.html", variables(context))
