"""The head of a request, from ASGI's words to ours."""

from __future__ import annotations

import time

from gateway.core.asgi import ReadOnlyScope
from gateway.core.ids import new_request_id
from gateway.core.request import RequestHead


def read_head(scope: ReadOnlyScope) -> RequestHead:
    """Return the head of an ASGI request, under a fresh id, its clock started."""
    client, route = scope.get("client"), scope.get("url_route")
    headers = scope["headers"]
    return RequestHead(
        request_id=new_request_id(),
        headers=headers,
        peer=client[0] if client else "",
        started_ns=time.perf_counter_ns(),
        fields=dict(headers),
        mount_profile=route["kwargs"].get("profile", "") if route else "",
    )
