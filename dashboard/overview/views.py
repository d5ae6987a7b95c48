"""The first page: what the workspace's calls came to over a period."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.utils import timezone
from django.views.decorators.http import require_GET

from dashboard.calls.rows import CallRow, call_rows
from dashboard.http.current_workspace import current_workspace
from dashboard.http.htmx import PageRequest, render_page
from dashboard.overview.error_rows import ErrorTables, error_tables
from dashboard.overview.figures import Overview, build_overview
from dashboard.ui.period_choice import PeriodChoice, choose_period
from gateway.selectors.call_filters import FAILED, CallFilters
from gateway.selectors.calls import call_page
from gateway.selectors.losses import Losses, find_losses
from gateway.selectors.visible import visible_to

ERRORS_SHOWN = 6


@dataclass(frozen=True)
class OverviewContext:
    """Variables of dashboard/overview/overview.html and _figures.html. losses: of the whole
    installation in the last 24 hours, for operators; None where there are none."""

    overview: Overview
    period: PeriodChoice
    errors: Sequence[CallRow]
    error_tables: ErrorTables
    sees_everything: bool
    losses: Losses | None


@login_required
@require_GET
def show_overview(request: PageRequest) -> HttpResponse:
    visible = visible_to(request.user, current_workspace(request))
    choice = choose_period(request.GET, now=timezone.now())
    span = choice.period
    failed = CallFilters(status=FAILED, starts_at=span.starts_at, ends_at=span.ends_at)
    errors = call_page(visible, failed, size=ERRORS_SHOWN)
    return render_page(
        request,
        page="dashboard/overview/overview.html",
        partial="dashboard/overview/_figures.html",
        context=OverviewContext(
            overview=build_overview(visible, span),
            period=choice,
            errors=call_rows(visible, errors.calls),
            error_tables=error_tables(visible, span),
            sees_everything=visible.is_everything,
            losses=find_losses() if request.user.is_operator else None,
        ),
        status=422 if choice.error else 200,
    )
