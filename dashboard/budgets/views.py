"""The page of budgets of a workspace, a member or a key: what is spent and left, the budgets, and
raises that are in force. The budgets of a key themselves are in the form of the key's page."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_http_methods

from accounts import budgets
from accounts.limits import has_budget
from accounts.models import Membership, Workspace
from accounts.permissions import Action, NotAllowed
from accounts.selectors import members_of
from dashboard.budgets.forms import BudgetForm, RaiseForm, budgets_version
from dashboard.budgets.spending import RaiseRow, SpendingRow, raise_rows, spending_rows
from dashboard.forms.save import SAVED, is_written
from dashboard.forms.submit_once import TokenSpent, new_form_token, spend_form_token
from dashboard.forms.version_token import lock_row, save_unchanged
from dashboard.http.current_workspace import current_workspace, require
from dashboard.http.htmx import PageRequest, variables
from dashboard.http.page_urls import page_address
from gateway.selectors.budget_lines import owner_of, timezone_of
from gateway.selectors.spending import spent_by
from keys.models import ApiKey
from keys.raises import Holder, end_raise, may_raise, raise_budget
from keys.selectors import keys_visible_to

Write = Callable[[], object]


@dataclass(frozen=True, kw_only=True)
class BudgetContext:
    """Variables of dashboard/budgets/budget.html.

    about: whose budgets. back, back_words: where they are a part of. form, raise_form: None where
    there is nothing to fill in. token: of the form of raises, see
    dashboard.forms.submit_once. may_reset: the total. is_limited: there is a budget.
    """

    title: str
    about: str
    back: str
    back_words: str
    spending: list[SpendingRow]
    raises: list[RaiseRow]
    timezone: str
    form: BudgetForm | None
    raise_form: RaiseForm | None
    token: str
    may_reset: bool
    is_limited: bool


@dataclass(frozen=True, kw_only=True)
class Place:
    """Whose budgets the page is about, and where it belongs."""

    holder: Holder
    title: str
    about: str
    address: str
    back: str
    back_words: str


@login_required
@require_http_methods(["GET", "POST"])
def workspace_budget(request: PageRequest) -> HttpResponse:
    workspace = require(request, Action.MANAGE_WORKSPACE)
    place = Place(
        holder=workspace,
        title="Budgets",
        about="What all keys of this workspace may spend together.",
        address=page_address(workspace, "settings-budget"),
        back=page_address(workspace, "limit-list"),
        back_words="Limits",
    )
    return _answer(request, place)


@login_required
@require_http_methods(["GET", "POST"])
def member_budget(request: PageRequest, membership_id: int) -> HttpResponse:
    workspace = require(request, Action.VIEW_MEMBERS)
    member = get_object_or_404(members_of(workspace), pk=membership_id)
    if member.user_id != request.user.pk or request.method == "POST":
        _require_limit(request, member)
    place = Place(
        holder=member,
        title=f"Budgets of {member.user.email}",
        about="What the keys of this member may spend together. Service keys do not count.",
        address=page_address(workspace, "member-budget", member.pk),
        back=page_address(workspace, "member-list"),
        back_words="Members",
    )
    return _answer(request, place)


@login_required
@require_http_methods(["GET", "POST"])
def key_budget(request: PageRequest, key_id: UUID) -> HttpResponse:
    workspace = current_workspace(request)
    key = get_object_or_404(keys_visible_to(request.user, workspace), pk=key_id)
    require(request, Action.MANAGE_KEYS)
    back = page_address(workspace, "key-edit", key.pk)
    if key.revoked_at is not None:
        return HttpResponseRedirect(back)
    place = Place(
        holder=key,
        title=f"Budgets of {key.label}",
        about="Change the budgets themselves on the page of the key.",
        address=page_address(workspace, "key-budget", key.pk),
        back=back,
        back_words=key.label,
    )
    return _answer(request, place)


def _require_limit(request: PageRequest, member: Membership) -> None:
    if not budgets.may_limit(request.user, member):
        is_own = member.user_id == request.user.pk
        raise NotAllowed(budgets.OWN if is_own else budgets.REFUSED)


def _answer(request: PageRequest, place: Place) -> HttpResponse:
    """Show the page, or do what one of its forms asks for (do)."""
    if request.method == "GET":
        return _page(request, place, status=200)
    wish, holder = request.POST.get("do", ""), place.holder
    if wish == "end":
        return _end_raise(request, place)
    if wish == "raise":
        raise_form = RaiseForm(request.POST, holder=holder, timezone=timezone_of(holder))
        if status := _raise(request, holder, raise_form):
            return _page(request, place, raise_form=raise_form, status=status)
    elif isinstance(holder, ApiKey):
        return _page(request, place, status=422)
    elif wish == "reset":
        _reset_total(request, holder)
    else:
        form = BudgetForm.of(holder, request.POST)
        if status := _set_limits(request, holder, form):
            return _page(request, place, form=form, status=status)
    messages.success(request, SAVED)
    return HttpResponseRedirect(place.address)


def _page(
    request: PageRequest,
    place: Place,
    *,
    form: BudgetForm | None = None,
    raise_form: RaiseForm | None = None,
    status: int,
) -> HttpResponse:
    holder, rows = place.holder, spending_rows(place.holder)
    may_change = may_raise(request.user, holder)
    timezone, is_limited = timezone_of(holder), has_budget(holder)
    if may_change and is_limited and raise_form is None:
        raise_form = RaiseForm(None, holder=holder, timezone=timezone)
    has_form = may_change and not isinstance(holder, ApiKey)
    if has_form and form is None:
        form = BudgetForm.of(holder)
    context = BudgetContext(
        title=place.title,
        about=place.about,
        back=place.back,
        back_words=place.back_words,
        spending=rows,
        raises=raise_rows(holder),
        timezone=timezone,
        form=form,
        raise_form=raise_form,
        token=new_form_token(),
        may_reset=has_form and rows[-1].limit_nusd is not None and rows[-1].spent_nusd > 0,
        is_limited=is_limited,
    )
    return render(request, "dashboard/budgets/budget.html", variables(context), status=status)


def _end_raise(request: PageRequest, place: Place) -> HttpResponse:
    person, raise_id = request.user, request.POST.get("raise", "")
    try:
        ended = end_raise(place.holder, raise_id, actor=person.email, asked_by=person)
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    else:
        messages.success(request, "The raise has ended." if ended else "This raise was over.")
    return HttpResponseRedirect(place.address)


def _set_limits(request: PageRequest, holder: Workspace | Membership, form: BudgetForm) -> int:
    """Return the status of a form that is refused and says why, 0 for one that is written."""
    person = request.user
    thing = "workspace" if isinstance(holder, Workspace) else "member"

    @transaction.atomic
    def write() -> None:
        actor, limits = person.email, form.budgets()
        budgets.set_spending_limits(holder, limits=limits, actor=actor, asked_by=person)
        if isinstance(holder, Workspace):
            zone = form.cleaned_data["timezone"]
            budgets.set_timezone(holder, timezone=zone, actor=actor, asked_by=person)

    status = save_unchanged(
        form,
        thing,
        lambda: budgets_version(lock_row(holder)),
        lambda: is_written(form, write),
    )
    return 0 if status == HTTPStatus.FOUND else status


def _reset_total(request: PageRequest, holder: Workspace | Membership) -> None:
    person = request.user
    spent_nusd = spent_by(owner_of(holder), time.time(), periods=("total",)).total_nusd
    budgets.reset_total(holder, spent_nusd=spent_nusd, actor=person.email, asked_by=person)


def _raise(request: PageRequest, holder: Holder, form: RaiseForm) -> int:
    """Return the status of a form that is refused and says why, 0 for one that is written."""

    def write() -> None:
        person, done = request.user, "The raise is in the list above."
        spend_form_token(request.POST.get("token", ""), done=done)
        raise_budget(holder, actor=person.email, asked_by=person, **form.cleaned_data)

    try:
        return 0 if is_written(form, write) else HTTPStatus.UNPROCESSABLE_ENTITY
    except TokenSpent as spent:
        form.add_error(None, str(spent))
        return HTTPStatus.CONFLICT
