"""The workspace's money: what there is, what runs, every movement, and giving more."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.views.decorators.http import require_GET, require_http_methods

from accounts.adjusting import adjust
from accounts.book import BookError, InsufficientBalance, grant
from accounts.book_selectors import Balance, LedgerPage, find_balance, ledger_page
from accounts.models import LedgerEntry, Workspace
from accounts.permissions import Action, may
from dashboard.addresses import page_address
from dashboard.forms.grant import GrantForm, new_token, with_fresh_token
from dashboard.htmx import PageRequest, render_page, wants_partial
from dashboard.key_labels import key_labels
from dashboard.list_query import read_number_place
from dashboard.templatetags.money import signed_usd
from dashboard.workspace import require
from gateway.models import LedgerCheck
from gateway.selectors.money import find_last_check, find_last_full_check, held_nusd

WITHOUT_USAGE = "movements"
Kind = LedgerEntry.Kind


@dataclass(frozen=True)
class LedgerRow:
    """An entry, and in words what caused it."""

    entry: LedgerEntry
    cause: str
    by: str


@dataclass(frozen=True)
class CreditsContext:
    """Variables of dashboard/credits/credits.html and _ledger.html. show: "" or WITHOUT_USAGE."""

    balance: Balance
    held_nusd: int
    available_nusd: int
    check: LedgerCheck | None
    full_check: LedgerCheck | None
    rows: Sequence[LedgerRow]
    newer: int | None
    older: int | None
    show: str
    may_grant: bool


@login_required
@require_GET
def show_credits(request: PageRequest) -> HttpResponse:
    workspace = require(request, Action.VIEW_CREDITS)
    show = WITHOUT_USAGE if request.GET.get("show") == WITHOUT_USAGE else ""
    before = read_number_place(request.GET, "before")
    after = read_number_place(request.GET, "after")
    page = ledger_page(
        workspace.id,
        before=before,
        after=None if before is not None else after,
        without_usage=bool(show),
    )
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
            rows=_rows(workspace, page),
            newer=page.newer,
            older=page.older,
            show=show,
            may_grant=may(request.user, Action.GRANT_CREDITS, workspace),
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
        form.add_error("amount", "That is more than the wallet can give or take right now.")
    except BookError:
        form.add_error(None, "The book did not take this. Open the form anew and try again.")
    else:
        messages.success(request, f"{signed_usd(amount_nusd)} posted as entry {entry.sequence}.")
        return _to_credits(request, workspace)
    return _form_page(request, form, workspace, status=422)


def _form_page(
    request: PageRequest, form: GrantForm, workspace: Workspace, status: int = 200
) -> HttpResponse:
    template = "_grant_modal.html" if wants_partial(request) else "grant.html"
    variables = {"form": form, "workspace": workspace, "balance": find_balance(workspace.id)}
    return render(request, f"dashboard/credits/{template}", variables, status=status)


def _to_credits(request: PageRequest, workspace: Workspace) -> HttpResponse:
    address = page_address(workspace, "credits")
    if wants_partial(request):
        return HttpResponse(status=204, headers={"HX-Redirect": address})
    return HttpResponseRedirect(address)


def _source(token: uuid.UUID) -> str:
    return f"form:{token}"


def _rows(workspace: Workspace, page: LedgerPage) -> list[LedgerRow]:
    labels = key_labels(workspace.id, (entry.key_id for entry in page.entries if entry.key_id))
    return [_row(entry, labels) for entry in page.entries]


def _row(entry: LedgerEntry, labels: Mapping[uuid.UUID, str]) -> LedgerRow:
    if entry.kind != Kind.USAGE or entry.key_id is None:
        return LedgerRow(entry, entry.reason, entry.actor)
    noun = "call" if entry.calls == 1 else "calls"
    label = labels.get(entry.key_id, f"key {str(entry.key_id)[:8]}")
    return LedgerRow(entry, f"{entry.calls:,} {noun}", label)
