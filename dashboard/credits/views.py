"""The credits of a workspace: balances, the ledger, and grants."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import date
from typing import NamedTuple

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.views.decorators.http import require_GET, require_http_methods

from accounts.adjustments import adjust
from accounts.ledger import InsufficientBalance, LedgerError, grant
from accounts.ledger_lines import ledger_lines
from accounts.ledger_selectors import Balance, find_balance, ledger_page
from accounts.models import Workspace
from accounts.permissions import Action, may
from dashboard.credits.forms import GrantForm, new_token, with_fresh_token
from dashboard.credits.rows import (
    BY_DAY,
    ENTRIES,
    WITHOUT_USAGE,
    DayRow,
    LedgerRow,
    day_groups,
    entry_rows,
    label_of,
)
from dashboard.credits.table import day_table, entry_table, ledger_pager, no_entries, no_usage
from dashboard.http.current_workspace import require
from dashboard.http.htmx import PageRequest, render_page, variables, wants_partial
from dashboard.http.page_urls import page_address
from dashboard.http.query_params import read_id, read_number_place
from dashboard.keys.labels import key_labels
from dashboard.templatetags.money import signed_usd
from dashboard.ui.tables import Table
from gateway.models import LedgerCheck
from gateway.selectors.money import find_last_check, find_last_full_check, held_nusd


class Place(NamedTuple):
    """Which page: what is older than entry `before`, or newer than entry `after`."""

    before: int | None
    after: int | None


@dataclass(frozen=True, kw_only=True)
class LedgerContext:
    """Variables of dashboard/credits/_ledger.html: a page of the ledger.

    usage_of: the day and the label of the key whose entries alone are shown. unsummed: how many
    entries are not in any line yet.
    """

    show: str  # BY_DAY, WITHOUT_USAGE or ENTRIES
    table: Table[DayRow] | Table[LedgerRow]
    usage_of: tuple[date, str] | None = None
    unsummed: int = 0


@dataclass(frozen=True, kw_only=True)
class CreditsContext(LedgerContext):
    """Variables of dashboard/credits/credits.html, and so of _ledger.html."""

    balance: Balance
    held_nusd: int
    available_nusd: int
    check: LedgerCheck | None
    full_check: LedgerCheck | None
    may_grant: bool


@login_required
@require_GET
def show_credits(request: PageRequest) -> HttpResponse:
    workspace = require(request, Action.VIEW_CREDITS)
    before = read_number_place(request.GET, "before")
    after = read_number_place(request.GET, "after")
    place = Place(before, None if before is not None else after)
    may_grant = may(request.user, Action.GRANT_CREDITS, workspace)
    read = _entries if request.GET.get("show") in (WITHOUT_USAGE, ENTRIES) else _days
    shown = read(request, workspace, place, may_grant=may_grant)
    balance, held = find_balance(workspace.id), held_nusd(workspace.id)
    return render_page(
        request,
        page="dashboard/credits/credits.html",
        partial="dashboard/credits/_ledger.html",
        context=CreditsContext(
            balance=balance,
            held_nusd=held,
            available_nusd=max(0, balance.posted_nusd - held),
            check=find_last_check(),
            full_check=find_last_full_check(),
            may_grant=may_grant,
            **variables(shown),
        ),
    )


@login_required
@require_http_methods(["GET", "POST"])
def grant_credits(request: PageRequest) -> HttpResponse:
    """Show the form, or post what it says; the same form sent twice is posted once."""
    workspace = require(request, Action.GRANT_CREDITS)
    if request.method == "GET":
        return _form_page(request, GrantForm(initial={"token": new_token()}), workspace)
    form = GrantForm(request.POST)
    if not form.is_valid():
        return _form_page(request, with_fresh_token(form), workspace, status=422)
    amount_nusd = form.cleaned_data["amount"]
    try:
        post = grant if amount_nusd > 0 else adjust
        entry = post(
            workspace,
            amount_nusd=amount_nusd,
            actor=request.user.email,
            reason=form.cleaned_data["reason"],
            source=_source(form.cleaned_data["token"]),
        )
    except InsufficientBalance:
        form.add_error("amount", "The amount is larger than the balance allows.")
    except LedgerError:
        form.add_error(None, "The ledger rejected this. Open the form again and retry.")
    else:
        messages.success(request, f"{signed_usd(amount_nusd)} posted as entry {entry.sequence}.")
        return _to_credits(request, workspace)
    return _form_page(request, form, workspace, status=422)


def _form_page(
    request: PageRequest, form: GrantForm, workspace: Workspace, status: int = 200
) -> HttpResponse:
    template = "_grant_modal.html" if wants_partial(request) else "grant.html"
    context = {"form": form, "workspace": workspace, "balance": find_balance(workspace.id)}
    return render(request, f"dashboard/credits/{template}", context, status=status)


def _to_credits(request: PageRequest, workspace: Workspace) -> HttpResponse:
    address = page_address(workspace, "credits")
    if wants_partial(request):
        return HttpResponse(status=204, headers={"HX-Redirect": address})
    return HttpResponseRedirect(address)


def _source(token: uuid.UUID) -> str:
    return f"form:{token}"


def _days(
    request: PageRequest, workspace: Workspace, place: Place, *, may_grant: bool
) -> LedgerContext:
    """Return the page of lines by day."""
    page = ledger_lines(workspace.id, before=place.before, after=place.after)
    sees_calls = may(request.user, Action.VIEW_USAGE, workspace)
    table = day_table(
        day_groups(workspace, page, sees_calls=sees_calls),
        empty=no_entries(may_grant=may_grant),
        pager=ledger_pager(
            f"{len(page.lines)} lines on this page, newest first",
            here=request.path,
            asked={},
            newer=page.newer,
            older=page.older,
        ),
    )
    return LedgerContext(show=BY_DAY, table=table, unsummed=page.unsummed)


def _entries(
    request: PageRequest, workspace: Workspace, place: Place, *, may_grant: bool
) -> LedgerContext:
    """Return the page of entries."""
    show = WITHOUT_USAGE if request.GET.get("show") == WITHOUT_USAGE else ENTRIES
    day, key_id = _read_day(request.GET.get("day", "")), read_id(request.GET.get("key", ""))
    usage_of = (day, key_id) if show == ENTRIES and day and key_id else None
    page = ledger_page(
        workspace.id,
        before=place.before,
        after=place.after,
        without_usage=show == WITHOUT_USAGE,
        usage_of=usage_of,
    )
    asked = {"show": show}
    if usage_of:
        asked |= {"day": usage_of[0].isoformat(), "key": str(usage_of[1])}
    labels = key_labels(workspace.id, [usage_of[1]] if usage_of else [])
    table = entry_table(
        entry_rows(workspace, page),
        empty=no_usage(workspace) if usage_of else no_entries(may_grant=may_grant),
        pager=ledger_pager(
            f"{len(page.entries)} entries on this page, newest first",
            here=request.path,
            asked=asked,
            newer=page.newer,
            older=page.older,
        ),
    )
    shown = usage_of and (usage_of[0], label_of(usage_of[1], labels))
    return LedgerContext(show=show, table=table, usage_of=shown)


def _read_day(text: str) -> date | None:
    try:
        return date.fromisoformat(text) if len(text) == 10 else None
    except ValueError:
        return None
