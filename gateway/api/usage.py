"""GET /usage: what a key or its workspace has used, by model, key, day or member."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from django.db import Error as DatabaseError
from django.http import QueryDict
from django.utils import timezone
from django.utils.dateparse import parse_date, parse_datetime
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request
from rest_framework.response import Response

from gateway.api.schemas.usage import UsageReport, UsageResponse, write_group, write_total
from gateway.api.views import KeyView, answers
from gateway.core.errors import DatabaseUnavailable, RequestError
from gateway.endpoints.json_schema import or_empty
from gateway.selectors.usage_groups import usage_by
from gateway.selectors.visible import read_by
from gateway.snapshot.caller import Caller
from keys.models import Scope

GROUPS = ("model", "key", "day", "member")
MOMENT = or_empty({"format": "date"}, {"format": "date-time"})
DEFAULT_SPAN = timedelta(days=30)
LONGEST_SPAN = timedelta(days=366)
YEARS = range(2000, 3000)  # far from the ends of what a date can be: spans are added to it


class UsageView(KeyView):
    """Get usage totals. A call is included about 0.1 s after it ends.

    An API key reads its own usage. With the scope usage.workspace it reads the usage of its
    workspace.
    """

    scope = Scope.USAGE.value
    wider_scope = Scope.USAGE_WORKSPACE.value

    @answers(
        UsageResponse,
        operation_id="getUsage",
        tags=["usage"],
        parameters=[
            OpenApiParameter(
                "start",
                MOMENT,
                description="A date, or a date and time. UTC. Default: 30 days before end.",
            ),
            OpenApiParameter("end", MOMENT, description="Exclusive. Default: now."),
            OpenApiParameter(
                "group_by",
                {"type": "array", "items": {"type": "string", "enum": (*GROUPS, "")}},
                explode=False,
                description="Separated by commas. Empty for one total. Default: model.",
            ),
        ],
    )
    def get(self, request: Request) -> Response:
        caller: Caller = request.auth  # type: ignore[assignment]
        query = request.query_params
        end = read_moment(query, "end") or timezone.now()
        start = read_moment(query, "start") or end - DEFAULT_SPAN
        if not start < end <= start + LONGEST_SPAN:
            raise RequestError("start must be before end, by at most 366 days.", param="start")
        by = read_groups(query)
        visible = read_by(caller.key)
        try:
            groups = usage_by(visible, start=start, end=end, by=by)
        except DatabaseError as error:
            raise DatabaseUnavailable(detail=repr(error), retry_after_s=1) from error
        report = UsageReport(
            start=start.isoformat(),
            end=end.isoformat(),
            of="workspace" if visible.is_everything else "key",
            group_by=list(by),
            groups=[write_group(group, by) for group in groups],
            total=write_total(groups),
        )
        return Response(UsageResponse(report))


def read_groups(query: QueryDict) -> tuple[str, ...]:
    """Return the groups asked for, model when none are. Raises RequestError for others."""
    names = [part.strip() for part in query.get("group_by", "model").split(",") if part.strip()]
    for name in names:
        if name not in GROUPS:
            raise RequestError(f"group_by must be some of {', '.join(GROUPS)}.", param="group_by")
    return tuple(dict.fromkeys(names))


def read_moment(query: QueryDict, name: str) -> datetime | None:
    """Return a moment given as a date or a date and time; without a zone it is UTC.

    Raises RequestError for anything else, and for years that nobody can mean.
    """
    text = query.get(name, "")
    if not text:
        return None
    try:
        moment = parse_datetime(text)
        if moment is None and (day := parse_date(text)) is not None:
            moment = datetime(day.year, day.month, day.day)
    except ValueError:
        moment = None
    if moment is None:
        raise RequestError(f"{name} must be a date such as 2026-01-31.", param=name)
    if moment.year not in YEARS:
        raise RequestError(f"{name} must be in the years {YEARS[0]} to {YEARS[-1]}.", param=name)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
