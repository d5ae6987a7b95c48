"""GET /health and /status, for everybody: is this process well, and what is it."""

from __future__ import annotations

from django.db import Error as DatabaseError
from rest_framework.request import Request
from rest_framework.response import Response

import gateway
from gateway.api.authentication import inbound_of
from gateway.api.views import KeyView, answers
from gateway.core.errors import DatabaseUnavailable
from gateway.models import LedgerCheck
from gateway.selectors.journal_faults import count_journal_faults
from gateway.selectors.money import find_last_check


class Health(KeyView):
    """Answers 200 while the process takes calls and its database answers."""

    authentication_classes = ()

    @answers("HealthShape", operation_id="getHealth", tags=["installation"])
    def get(self, request: Request) -> Response:
        outage = inbound_of(request).outage
        if outage is not None:
            raise outage
        read_last_check()
        return Response({"status": "ok"})


class Status(KeyView):
    """The version, how many models there are, when the ledger was last verified, and what is wrong.

    Answers 503 when the database cannot be read.
    """

    authentication_classes = ()

    @answers("StatusShape", operation_id="getStatus", tags=["installation"])
    def get(self, request: Request) -> Response:
        inbound = inbound_of(request)
        outage = inbound.outage
        if isinstance(outage, DatabaseUnavailable):
            raise outage
        check = read_last_check()
        return Response(
            {
                "status": "ok" if outage is None else "unavailable",
                "problem": None if outage is None else str(outage),
                "version": gateway.__version__,
                "models": len(inbound.snapshot.offered()),
                "ledger_checked_at": None if check is None else check.checked_at.isoformat(),
                "ledger_breaks": None if check is None else len(check.breaks),
                "journal_faults": count_journal_faults(),
            }
        )


def read_last_check() -> LedgerCheck | None:
    try:
        return find_last_check()
    except DatabaseError as error:
        raise DatabaseUnavailable(detail=repr(error), retry_after_s=1) from error
