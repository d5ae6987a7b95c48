"""A small application to be served behind the connection limits, without a gateway."""

from __future__ import annotations

import json
from typing import Any

from django.conf import settings

from gateway.edge.connection_limits import ConnectionLimiter
from gateway.edge.limits import EdgeLimits
from gateway.edge.protocol import GuardedHttpProtocol

START = {"type": "http.response.start", "status": 200}


def make_limiter(**limits: Any) -> ConnectionLimiter:
    """Return a limiter with the limits of the settings, but for these."""
    return ConnectionLimiter(EdgeLimits(**{**settings.EDGE, **limits}))


async def application(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """Answer with what has arrived: at once under /early, else when the body is whole."""
    if scope["type"] == "lifespan":
        await answer_lifespan(receive, send)
        return
    size, more = 0, scope["path"] != "/early"
    while more:
        message = await receive()
        size += len(message.get("body", b""))
        more = message.get("more_body", False)
    headers = [[name.decode(), value.decode("latin-1")] for name, value in scope["headers"]]
    body = json.dumps({"path": scope["path"], "size": size, "headers": headers}).encode()
    length = (b"content-length", str(len(body)).encode())
    await send({**START, "headers": [(b"content-type", b"application/json"), length]})
    await send({"type": "http.response.body", "body": body})


async def answer_lifespan(receive: Any, send: Any) -> None:
    GuardedHttpProtocol.limiter = make_limiter()
    for phase in ("startup", "shutdown"):
        await receive()
        await send({"type": f"lifespan.{phase}.complete"})
