"""GET /health and /status, for everybody: is this process well, and what is it."""

from __future__ import annotations

from django.db import Error as DatabaseError
from rest_framework.request import Request
from rest_framework.response import Response

import gateway
from gateway.api.authentication import inbound_of
from gateway.api.schemas.installation import Health, Status
from gateway.api.views import KeyView, answers
from gateway.core.errors import DatabaseUnavailable
from gateway.models import LedgerCheck
from gateway.selectors.journal_faults import count_journal_faults
from gateway.selectors.money import find_last_check
from gateway.selectors.processes import count_silent_processes


class HealthView(KeyView):
    """Check that the process serves calls and its database responds."""

    authentication_classes = ()

    @answers(Health, operation_id="getHealth", tags=["installation"])
    def get(self, request: Request) -> Response:
        outage = inbound_of(request).outage
        if outage is not None:
            raise outage
        read_last_check()
        return Response(Health("ok"))


class StatusView(KeyView):
    """Get the version, the number of models, the last check of the ledger, and current problems.

    Returns 503 when the database cannot be read.
    """

    authentication_classes = ()

    @answers(Status, operation_id="getStatus", tags=["installation"])
    def get(self, request: Request) -> Response:
        inbound = inbound_of(request)
        outage = inbound.outage
        if isinstance(outage, DatabaseUnavailable):
            raise outage
        check = read_last_check()
        return Response(
            Status(
                status="ok" if outage is None else "unavailable",
                problem=None if outage is None else str(outage),
                version=gateway.__version__,
                models=len(inbound.snapshot.offered()),
                ledger_checked_at=None if check is None else check.checked_at,
                ledger_breaks=None if check is None else len(check.breaks),
                journal_faults=count_journal_faults(),
                unreplayed_journals=count_silent_processes(),
            )
        )


def read_last_check() -> LedgerCheck | None:
    try:
        return find_last_check()
    except DatabaseError as error:
        raise DatabaseUnavailable(detail=repr(error), retry_after_s=1) from error
