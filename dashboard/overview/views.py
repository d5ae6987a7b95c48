"""The first page: what the workspace's calls came to over a period."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.utils import timezone
from django.views.decorators.http import require_GET

from accounts.models import Workspace
from dashboard.budgets.own import OwnBudget, own_budgets
from dashboard.calls.rows import call_rows
from dashboard.http.current_workspace import current_workspace
from dashboard.http.htmx import PageRequest, render_page
from dashboard.http.page_urls import page_address
from dashboard.overview.error_rows import error_tables
from dashboard.overview.figures import Overview, build_overview
from dashboard.overview.tables import OverviewTables, overview_tables
from dashboard.ui.period_choice import PeriodChoice, choose_period
from dashboard.ui.tables import Empty
from gateway.selectors.call_filters import FAILED, CallFilters
from gateway.selectors.calls import call_page
from gateway.selectors.losses import Losses, find_losses
from gateway.selectors.visible import Visible, visible_to

ERRORS_SHOWN = 6


@dataclass(frozen=True, kw_only=True)
class OverviewContext:
    """Variables of dashboard/overview/overview.html and _figures.html. losses: of the whole
    installation in the last 24 hours, for operators; None where there are none. budgets: those that
    bind whoever looks."""

    overview: Overview
    period: PeriodChoice
    empty: Empty | None  # instead of figures
    tables: OverviewTables
    errors_known_since: datetime | None  # those from before are not all counted yet
    sees_everything: bool
    losses: Losses | None
    budgets: list[OwnBudget]


@login_required
@require_GET
def show_overview(request: PageRequest) -> HttpResponse:
    workspace = current_workspace(request)
    visible = visible_to(request.user, workspace)
    choice = choose_period(request.GET, now=timezone.now())
    span = choice.period
    failed = CallFilters(status=FAILED, starts_at=span.starts_at, ends_at=span.ends_at)
    failed_calls = call_rows(visible, call_page(visible, failed, size=ERRORS_SHOWN).calls)
    overview, errors = build_overview(visible, span), error_tables(visible, span)
    links = {"calls": page_address(workspace, "call-list"), "query": choice.query}
    return render_page(
        request,
        page="dashboard/overview/overview.html",
        partial="dashboard/overview/_figures.html",
        context=OverviewContext(
            overview=overview,
            period=choice,
            empty=_empty(workspace, choice, has_calls=overview.has_calls),
            tables=overview_tables(overview, errors, failed_calls, links),
            errors_known_since=errors.known_since,
            sees_everything=visible.is_everything,
            losses=find_losses() if request.user.is_operator else None,
            budgets=_budgets(request, workspace, visible),
        ),
        status=422 if choice.error else 200,
    )


def _budgets(request: PageRequest, workspace: Workspace, visible: Visible) -> list[OwnBudget]:
    """Return the budgets that the whole page shows; htmx gets the figures alone."""
    if request.htmx:
        return []
    return own_budgets(request.user, workspace, sees_workspace=visible.is_everything)


def _empty(workspace: Workspace, choice: PeriodChoice, *, has_calls: bool) -> Empty | None:
    if choice.error:
        return Empty(icon="calendar-range", title="Invalid period", text=choice.error)
    if has_calls:
        return None
    return Empty(
        icon="activity",
        title="No calls in this period",
        text="Calls appear here within a second after they end. Choose a longer period, or create"
        " a key and send a call.",
        href=page_address(workspace, "key-list"),
        action="Go to keys",
    )
