"""Views that have texts processed. They read, however many of them take a POST."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from rest_framework.request import Request

from gateway.api.mount import serving_of
from gateway.api.views import KeyView
from gateway.core.json_types import JsonObject
from gateway.processors.base import Engines
from gateway.snapshot.caller import Caller

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
