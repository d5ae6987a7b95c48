"""GET /processors, under every mount."""

from __future__ import annotations

from rest_framework.request import Request
from rest_framework.response import Response

from gateway.api.schemas.processors import ProcessorList, write_processors
from gateway.api.views import KeyView, answers
from gateway.core.processor_rules import NO_RULES
from gateway.processors.registry import PROCESSORS
from gateway.snapshot.caller import Caller


class ProcessorListView(KeyView):
    """List the processors that calls can name in inferada.processors, in the order in which they
    run."""

    @answers(ProcessorList, operation_id="listProcessors", tags=["calls"])
    def get(self, request: Request) -> Response:
        caller: Caller = request.auth  # type: ignore[assignment]
        required = (caller.key.processors or NO_RULES).required
        return Response(write_processors(PROCESSORS.values(), required))
