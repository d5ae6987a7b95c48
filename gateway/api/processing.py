"""Views that have texts processed. They read, however many of them take a POST."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

import msgspec
from msgspec import Struct
from rest_framework.request import Request

from gateway.api.mount import serving_of
from gateway.api.views import KeyView
from gateway.core.json_types import JsonObject
from gateway.endpoints.reading import explain as explain_invalid
from gateway.http.strict_json import check
from gateway.processors.base import Engines
from gateway.snapshot.caller import Caller

S = TypeVar("S", bound=Struct)
T = TypeVar("T")


class ProcessingView(KeyView):
    """A view that has texts processed on this server. Nothing is charged or stored."""

    methods = ("POST", "OPTIONS")

    def run_engine(self, request: Request, engine: str, asked: JsonObject) -> JsonObject:
        """Return what an engine makes of a request. Raises ProcessorFailure, Overloaded."""
        return self.with_engines(request, lambda engines: engines.run(engine, asked))

    def with_engines(self, request: Request, work: Callable[[Engines], Awaitable[T]]) -> T:
        """Return what comes of work with engines. Raises ProcessorFailure, Overloaded."""
        caller: Caller = request.auth  # type: ignore[assignment]
        serving = serving_of(request._request)
        assert serving is not None
        return serving.with_engines(caller.key.workspace_id, work)


def read(decoder: msgspec.json.Decoder[S], body: bytes) -> S:
    """Return what is asked. Raises InvalidJson and RequestError."""
    check(body)
    try:
        return decoder.decode(body)
    except msgspec.ValidationError as error:
        raise explain_invalid(error, lambda param: "text of another form") from None
