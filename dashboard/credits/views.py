"""The workspace's money: what there is, what runs, every movement, and giving more."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple
from urllib.parse import urlencode

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.views.decorators.http import require_GET, require_http_methods

from accounts.adjusting import adjust
from accounts.ledger import InsufficientBalance, LedgerError, grant
from accounts.ledger_lines import LedgerLine, ledger_lines
from accounts.ledger_selectors import Balance, LedgerPage, find_balance, ledger_page
from accounts.models import LedgerEntry, Workspace
from accounts.permissions import Action, may
from dashboard.credits.forms import GrantForm, new_token, with_fresh_token
from dashboard.http.current_workspace import require
from dashboard.http.htmx import PageRequest, render_page, variables, wants_partial
from dashboard.http.page_urls import page_address
from dashboard.http.query_params import read_id, read_number_place
from dashboard.keys.labels import key_labels
from dashboard.templatetags.money import signed_usd
from gateway.models import LedgerCheck
from gateway.selectors.money import find_last_check, find_last_full_check, held_nusd

# What the page shows of the ledger: a line a day and key, or entries.
BY_DAY, WITHOUT_USAGE, ENTRIES = "", "movements", "entries"
Kind = LedgerEntry.Kind


class Place(NamedTuple):
    """Which page: what is older than entry `before`, or newer than entry `after`."""

    before: int | None
    after: int | None


@dataclass(frozen=True)
class LedgerRow:
    """An entry, and in words what caused it."""

    entry: LedgerEntry
    cause: str
    by: str


@dataclass(frozen=True)
class DayRow:
    """A line of a day. entries_url: where the entries behind it are, "" where it is one itself.
    calls_url: where its calls are, "" where it has none that can be listed."""

    line: LedgerLine
    kind: str
    cause: str
    by: str
    entries_url: str
    calls_url: str


@dataclass(frozen=True)
class LedgerDayRows:
    """The lines of a day. balance_nusd: at its end; None where the page does not begin with it."""

    day: date
    rows: list[DayRow]
    balance_nusd: int | None


@dataclass(frozen=True, kw_only=True)
class LedgerContext:
    """Variables of dashboard/credits/_ledger.html: a page of the ledger.

    show: BY_DAY (days are filled), WITHOUT_USAGE or ENTRIES (rows are). usage_of: the day and the
    label of the key whose entries alone are shown. asked: what the links to other pages repeat.
    unsummed: how many entries are not in any line yet.
    """

    show: str
    count: int
    newer: int | None
    older: int | None
    days: Sequence[LedgerDayRows] = ()
    rows: Sequence[LedgerRow] = ()
    usage_of: tuple[date, str] | None = None
    asked: str = ""
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
    shown = _days(request, workspace, place) or _entries(request, workspace, place)
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
            may_grant=may(request.user, Action.GRANT_CREDITS, workspace),
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


def _days(request: PageRequest, workspace: Workspace, place: Place) -> LedgerContext | None:
    """Return the page of lines; None where entries are asked for."""
    if request.GET.get("show") in (WITHOUT_USAGE, ENTRIES):
        return None
    page = ledger_lines(workspace.id, before=place.before, after=place.after)
    labels = key_labels(workspace.id, (line.key_id for line in page.lines if line.key_id))
    sees_calls = may(request.user, Action.VIEW_USAGE, workspace)
    days: list[LedgerDayRows] = []
    for day, lines in groupby(page.lines, key=attrgetter("day")):
        rows = [_day_row(workspace, line, labels, sees_calls=sees_calls) for line in lines]
        is_whole = bool(days) or page.newer is None
        days.append(LedgerDayRows(day, rows, rows[0].line.balance_nusd if is_whole else None))
    return LedgerContext(
        show=BY_DAY,
        days=days,
        count=len(page.lines),
        newer=page.newer,
        older=page.older,
        unsummed=page.unsummed,
    )


def _entries(request: PageRequest, workspace: Workspace, place: Place) -> LedgerContext:
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
    asked = {"show": show} | (
        {"day": usage_of[0].isoformat(), "key": str(usage_of[1])} if usage_of else {}
    )
    labels = key_labels(workspace.id, [usage_of[1]] if usage_of else [])
    return LedgerContext(
        show=show,
        rows=_rows(workspace, page),
        count=len(page.entries),
        newer=page.newer,
        older=page.older,
        usage_of=usage_of and (usage_of[0], _label(usage_of[1], labels)),
        asked=urlencode(asked) + "&",
    )


def _day_row(
    workspace: Workspace,
    line: LedgerLine,
    labels: Mapping[uuid.UUID, str],
    *,
    sees_calls: bool,
) -> DayRow:
    if line.entry is not None:
        entry = line.entry
        return DayRow(line, entry.get_kind_display(), entry.reason, entry.actor, "", "")
    asked = urlencode({"show": ENTRIES, "day": line.day.isoformat(), "key": str(line.key_id)})
    calls_url = ""
    if sees_calls:
        starts, ends = line.day, line.day + timedelta(days=1)
        period = {"from": f"{starts}T00:00", "to": f"{ends}T00:00", "key": str(line.key_id)}
        calls_url = f"{page_address(workspace, 'call-list')}?{urlencode(period)}"
    return DayRow(
        line,
        Kind.USAGE.label,
        _calls(line.calls),
        "" if line.key_id is None else _label(line.key_id, labels),
        f"{page_address(workspace, 'credits')}?{asked}",
        calls_url,
    )


def _rows(workspace: Workspace, page: LedgerPage) -> list[LedgerRow]:
    labels = key_labels(workspace.id, (entry.key_id for entry in page.entries if entry.key_id))
    return [_row(entry, labels) for entry in page.entries]


def _row(entry: LedgerEntry, labels: Mapping[uuid.UUID, str]) -> LedgerRow:
    if entry.kind != Kind.USAGE or entry.key_id is None:
        return LedgerRow(entry, entry.reason, entry.actor)
    return LedgerRow(entry, _calls(entry.calls), _label(entry.key_id, labels))


def _calls(calls: int) -> str:
    return f"{calls:,} {'call' if calls == 1 else 'calls'}"


def _label(key_id: uuid.UUID, labels: Mapping[uuid.UUID, str]) -> str:
    return labels.get(key_id, f"key {str(key_id)[:8]}")


def _read_day(text: str) -> date | None:
    try:
        return date.fromisoformat(text) if len(text) == 10 else None
    except ValueError:
        return None
