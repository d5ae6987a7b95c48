"""Limits: list, add, change, remove. Those of a workspace, and those of the installation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_GET, require_http_methods

from accounts.permissions import Action, NotAllowed
from dashboard.budgets.table import BudgetRow, budget_table
from dashboard.forms.save import save
from dashboard.forms.submit_once import TokenSpent, new_form_token, spend_form_token
from dashboard.forms.version_token import lock_row, save_unchanged
from dashboard.http.current_workspace import require
from dashboard.http.htmx import PageRequest, go_to, render_page
from dashboard.http.query_params import read_text
from dashboard.limits.forms import (
    EditLimitForm,
    LimitForm,
    NewLimitForm,
    initial_of_new,
    limit_version,
)
from dashboard.limits.places import Place, installation, place_of
from dashboard.limits.table import LimitRow, limit_row, limit_table
from dashboard.limits.trial import BUTTON, Trial, try_values
from dashboard.ui.confirm import Question, ask
from dashboard.ui.tables import Table
from keys import limit_actions
from keys.limit_rules import RuleHolder, holder_of, values_of
from keys.limit_words import holder_words, limit_words
from keys.models import LimitRule


@dataclass(frozen=True, kw_only=True)
class LimitListContext:
    """Variables of dashboard/limits/list.html; htmx gets the lists alone. budgets: None for the
    installation, which has none."""

    table: Table[LimitRow]
    budgets: Table[BudgetRow] | None
    query: str
    is_installations: bool
    may_manage: bool
    list_url: str
    create_url: str


@dataclass(frozen=True, kw_only=True)
class LimitFormContext:
    """Variables of dashboard/limits/form.html, _form.html. row: None for a new limit. token: of the
    form, see dashboard.forms.submit_once."""

    form: LimitForm
    token: str
    row: LimitRow | None
    title: str
    action_url: str
    list_url: str
    # What was asked for with the button to try it.
    trial: Trial | None


@login_required
@require_GET
def list_limits(request: PageRequest) -> HttpResponse:
    return _list(request, Place(require(request, Action.VIEW_KEYS)))


@login_required
@require_GET
def list_installation_limits(request: PageRequest) -> HttpResponse:
    return _list(request, installation(request))


@login_required
@require_http_methods(["GET", "POST"])
def create_limit(request: PageRequest) -> HttpResponse:
    return _create(request, place_of(request))


@login_required
@require_http_methods(["GET", "POST"])
def create_installation_limit(request: PageRequest) -> HttpResponse:
    return _create(request, installation(request))


@login_required
@require_http_methods(["GET", "POST"])
def edit_limit(request: PageRequest, rule_id: UUID) -> HttpResponse:
    return _edit(request, place_of(request), rule_id)


@login_required
@require_http_methods(["GET", "POST"])
def edit_installation_limit(request: PageRequest, rule_id: UUID) -> HttpResponse:
    return _edit(request, installation(request), rule_id)


@login_required
@require_http_methods(["GET", "POST"])
def remove_limit(request: PageRequest, rule_id: UUID) -> HttpResponse:
    return _remove(request, place_of(request), rule_id)


@login_required
@require_http_methods(["GET", "POST"])
def remove_installation_limit(request: PageRequest, rule_id: UUID) -> HttpResponse:
    return _remove(request, installation(request), rule_id)


def _list(request: PageRequest, place: Place) -> HttpResponse:
    query, workspace = read_text(request.GET), place.workspace
    return render_page(
        request,
        page="dashboard/limits/list.html",
        partial="dashboard/limits/_lists.html",
        context=LimitListContext(
            table=limit_table(place, request.user, query),
            budgets=None if workspace is None else budget_table(workspace, request.user, query),
            query=query,
            is_installations=place.workspace is None,
            may_manage=place.may_manage(request.user),
            list_url=place.address("list"),
            create_url=place.address("create"),
        ),
    )


def _create(request: PageRequest, place: Place) -> HttpResponse:
    _require_manager(request, place)
    asked = request.POST if request.method == "POST" else None
    initial = initial_of_new(request.GET)
    chosen = asked.get("holder", "") if asked is not None else initial["holder"]
    form = NewLimitForm(asked, initial=initial, holders=place.choices(chosen))

    def holder() -> RuleHolder:
        found = place.holder(form.cleaned_data["holder"])
        if found is None:
            raise ValidationError({"holder": "This was removed in the meantime."})
        return found

    def write() -> bool:
        spend_form_token(request.POST.get("token", ""), done="The limit is in the list.")
        limit_actions.add_rule(holder(), person=request.user, values=form.values())
        return True

    if BUTTON in request.POST:
        trial = _tried(form, lambda: try_values(holder(), form.values()))
        return _form_page(request, place, form, None, trial=trial)
    try:
        if form.is_bound and form.is_valid() and save(request, form, write):
            return _to_list(request, place)
    except TokenSpent as spent:
        form.add_error(None, str(spent))
        return _form_page(request, place, form, None, status=HTTPStatus.CONFLICT)
    return _form_page(request, place, form, None)


def _edit(request: PageRequest, place: Place, rule_id: UUID) -> HttpResponse:
    rule = _find(request, place, rule_id)
    form = EditLimitForm(request.POST if request.method == "POST" else None, rule)
    if BUTTON in request.POST:
        holder = holder_of(rule)
        trial = _tried(form, lambda: try_values(holder, {**values_of(rule), **form.changes()}))
        return _form_page(request, place, form, rule, trial=trial)
    if not form.is_bound:
        return _form_page(request, place, form, rule)

    def write() -> bool:
        return limit_actions.change_rule(rule, person=request.user, values=form.changes())

    status = save_unchanged(
        form,
        "limit",
        lambda: limit_version(lock_row(rule)),
        lambda: save(request, form, write),
    )
    if status == HTTPStatus.FOUND:
        return _to_list(request, place)
    return _form_page(request, place, form, rule, status=status)


def _remove(request: PageRequest, place: Place, rule_id: UUID) -> HttpResponse:
    rule = _find(request, place, rule_id)
    words = f"{holder_words(rule)}: {limit_words(rule)}"
    if request.method == "GET":
        question = Question(
            title="Remove this limit?",
            lines=[f"{words}.", "Within a second it is no longer enforced."],
            action=place.address("remove", rule.pk),
            button="Remove limit",
            back=place.address("list"),
        )
        return ask(request, question)
    limit_actions.remove_rule(rule, person=request.user)
    messages.success(request, f"{words} is removed.")
    return HttpResponseRedirect(place.address("list"))


def _tried(form: LimitForm, try_it: Callable[[], Trial]) -> Trial | None:
    """Return None where the form says why the limit cannot be set."""
    if not form.is_valid():
        return None
    try:
        return try_it()
    except ValidationError as error:
        form.take(error)
        return None


def _find(request: PageRequest, place: Place, rule_id: UUID) -> LimitRule:
    """Return the limit for somebody who may change it. Raises PermissionDenied, Http404."""
    rule = get_object_or_404(place.rules(), pk=rule_id)
    _require_manager(request, place)
    if limit_actions.is_bound(request.user, rule):
        raise NotAllowed(limit_actions.OWN)
    return rule


def _require_manager(request: PageRequest, place: Place) -> None:
    if not place.may_manage(request.user):
        raise PermissionDenied(limit_actions.REFUSED)


def _to_list(request: PageRequest, place: Place) -> HttpResponse:
    return go_to(request, place.address("list"))


def _form_page(
    request: PageRequest,
    place: Place,
    form: LimitForm,
    rule: LimitRule | None,
    *,
    status: int | None = None,
    trial: Trial | None = None,
) -> HttpResponse:
    row = None if rule is None else limit_row(rule)
    context = LimitFormContext(
        form=form,
        token=new_form_token(),
        row=row,
        title="Add limit" if row is None else f"{row.holder}: {row.words}",
        action_url=place.address("create") if rule is None else place.address("edit", rule.pk),
        list_url=place.address("list"),
        trial=trial,
    )
    return render_page(
        request,
        page="dashboard/limits/form.html",
        partial="dashboard/limits/_form.html",
        context=context,
        status=status or (422 if form.errors else 200),
    )
