"""GET /openapi.json."""

from __future__ import annotations

import msgspec
from django.http import HttpRequest, HttpResponse

from gateway.api.errors import READS, json_error
from gateway.core.errors import MethodNotAllowed


def serve(request: HttpRequest) -> HttpResponse:
    """Answer everybody with the document."""
    if request.method not in READS:
        return json_error(request, MethodNotAllowed(details={"allow": READS}))
    # It takes 5 MB of memory that most processes never need.
    from gateway.api.openapi import document

    return HttpResponse(
        msgspec.json.encode(document()),
        content_type="application/json",
        headers={"cache-control": "public, max-age=300"},
    )
