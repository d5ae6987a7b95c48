"""The keys of a workspace: list, create, edit, revoke."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from accounts.audit_selectors import history_of
from accounts.limits import has_budget
from accounts.models import User, Workspace
from accounts.permissions import Action, NotAllowed, may
from dashboard.access_rules.words import rule_lines
from dashboard.audit.history import SHOWN, Line, history
from dashboard.budgets.spending import RaiseRow, SpendingRow, raise_rows, spending_rows
from dashboard.budgets.table import OuterBudget, budgets_over
from dashboard.explain.links import explain_key_url
from dashboard.forms.save import save
from dashboard.forms.submit_once import TokenSpent, new_form_token, spend_form_token
from dashboard.forms.version_token import lock_row, save_unchanged
from dashboard.http.current_workspace import current_workspace, require
from dashboard.http.htmx import PageRequest, render_page
from dashboard.http.page_urls import page_address
from dashboard.key_policy.limits_text import policy_lines
from dashboard.keys.forms import (
    WORKSPACE,
    KeyForm,
    NewKeyForm,
    initial_of,
    initial_of_new,
    rules_version,
)
from dashboard.keys.issued import show_issued
from dashboard.keys.rows import (
    STATES,
    KeyFilters,
    KeyRow,
    key_rows,
    read_filters,
    with_use,
)
from dashboard.keys.rules_form import models_within
from dashboard.keys.table import key_table
from dashboard.limits.table import LimitRow, limits_of_key
from dashboard.processors.lines import MandatoryLine, mandatory_lines
from dashboard.ui.confirm import Question, ask
from dashboard.ui.tables import Table
from gateway.selectors.key_use import model_names
from gateway.selectors.processors import mandatory_for
from gateway.selectors.spending import total_of
from keys import member_actions
from keys.access import access_rules_of, max_key_days
from keys.limit_actions import may_manage
from keys.models import ApiKey, DeveloperKeyPolicy
from keys.policy import policy_of
from keys.selectors import (
    grantable_scopes,
    keys_visible_to,
    may_change,
    may_edit,
    scopes_without_effect,
)
from keys.services import IssuedKey


@dataclass(frozen=True)
class KeyListContext:
    """Variables of dashboard/keys/list.html; htmx gets the table alone."""

    table: Table[KeyRow]
    filters: KeyFilters
    states: dict[str, str]
    may_make: bool
    may_import: bool


@dataclass(frozen=True)
class KeyFormContext:
    """Variables of dashboard/keys/new.html, _new.html: a form that was not sent yet, or failed.

    maximum: the most that the key may do, in lines; empty where its maker is under no policy.
    """

    form: NewKeyForm
    token: str
    maximum: list[str]


@dataclass(frozen=True, kw_only=True)
class KeyPageContext:
    """Variables of dashboard/keys/key.html. form: None for who may only look. is_tightened_only:
    what the form sets may become narrower, not wider. why_not: why somebody who makes keys may
    not edit this one."""

    row: KeyRow
    spending: list[SpendingRow]
    form: KeyForm | None
    history: list[Line]
    may_revoke: bool
    may_rotate: bool
    may_transfer: bool
    may_reset: bool
    raises: list[RaiseRow]
    may_raise: bool
    is_tightened_only: bool
    why_not: str
    workspace_rules: list[str]
    limits: list[LimitRow]
    budgets: list[OuterBudget]
    may_limit: bool
    mandatory: list[MandatoryLine]
    may_require: bool
    lost_scopes: list[str]
    explain_url: str


@login_required
@require_GET
def list_keys(request: PageRequest) -> HttpResponse:
    workspace = current_workspace(request)
    filters = read_filters(request.GET)
    rows, before = key_rows(keys_visible_to(request.user, workspace), filters, workspace)
    asked = {"q": filters.query, "state": filters.state, "before": str(before or "")}
    may_make = may(request.user, Action.MAKE_KEYS, workspace)
    older_url = f"{request.path}?{urlencode(asked)}" if before else ""
    return render_page(
        request,
        page="dashboard/keys/list.html",
        partial="components/_list.html",
        context=KeyListContext(
            table=key_table(rows, filters, workspace, older_url=older_url, may_make=may_make),
            filters=filters,
            states=STATES,
            may_make=may_make,
            may_import=may(request.user, Action.MANAGE_KEYS, workspace),
        ),
    )


@sensitive_variables()
@login_required
@require_http_methods(["GET", "POST"])
def create_key(request: PageRequest) -> HttpResponse:
    workspace = require(request, Action.MAKE_KEYS)
    policy = _policy_for(request.user, workspace)
    grantable, models = grantable_scopes(request.user, workspace), model_names()
    if policy is not None:
        grantable &= frozenset(policy.scopes or grantable)
        models = models_within(models, policy.allowed_models)
    form = NewKeyForm(
        request.POST or None,
        initial=initial_of_new(grantable, policy, max_key_days(workspace)),
        models=models,
        grantable=grantable,
        workspace=workspace,
        policy=policy,
    )
    if request.method == "GET":
        return _new_key(request, form, policy, status=200)
    try:
        issued = _issue(request, form, workspace) if form.is_valid() else None
    except TokenSpent as spent:
        form.add_error(None, str(spent))
        return _new_key(request, form, policy, status=409)
    if issued is None:
        return _new_key(request, form, policy, status=422)
    return show_issued(request, issued) if issued.secret else _imported(request, issued.key)


@login_required
@require_http_methods(["GET", "POST"])
def edit_key(request: PageRequest, key_id: UUID) -> HttpResponse:
    workspace = current_workspace(request)
    key = get_object_or_404(keys_visible_to(request.user, workspace), pk=key_id)
    if request.method == "GET":
        form = _edit_form(request, key, workspace) if may_edit(request.user, key) else None
        return _key_page(request, key, form, workspace)
    _require_change(request, key)
    form = _edit_form(request, key, workspace)
    status = save_unchanged(
        form,
        "key",
        lambda: rules_version(lock_row(key)),
        lambda: _update(request, key, form),
    )
    if status == HTTPStatus.FOUND:
        return HttpResponseRedirect(page_address(workspace, "key-edit", key.pk))
    key.refresh_from_db()
    return _key_page(request, key, form, workspace, status=status)


@login_required
@require_http_methods(["GET", "POST"])
def revoke(request: PageRequest, key_id: UUID) -> HttpResponse:
    workspace = current_workspace(request)
    key = get_object_or_404(keys_visible_to(request.user, workspace), pk=key_id)
    _require_change(request, key)
    if request.method == "GET":
        return ask(request, _revoke_question(key))
    if member_actions.revoke_key(key, person=request.user):
        messages.success(request, f"{key.label} is revoked. Calls with it are refused.")
    else:
        messages.info(request, f"{key.label} was already revoked.")
    return HttpResponseRedirect(page_address(workspace, "key-edit", key.pk))


@login_required
@require_POST
def reset_total(request: PageRequest, key_id: UUID) -> HttpResponse:
    """Count what a key spends in total from nothing again."""
    workspace = current_workspace(request)
    key = get_object_or_404(keys_visible_to(request.user, workspace), pk=key_id)
    require(request, Action.MANAGE_KEYS)
    if member_actions.reset_total(key, spent_nusd=total_of(key.pk), person=request.user):
        messages.success(request, "Total reset to $0.")
    return HttpResponseRedirect(page_address(workspace, "key-edit", key.pk))


def _issue(request: PageRequest, form: NewKeyForm, workspace: Workspace) -> IssuedKey | None:
    """Return the new key, or None with the reasons in the form. Raises TokenSpent."""
    try:
        done = "The key is in the list. Its secret was shown once."
        spend_form_token(request.POST.get("token", ""), done=done)
        return member_actions.create_key(
            workspace=workspace,
            person=request.user,
            rules=form.rules(),
            compatibility=form.compatibility(),
            limits=form.limits(),
            prefix=form.cleaned_data["key_prefix"],
            imported_secret=form.imported_secret(),
            is_service=form.cleaned_data.get("owner") == WORKSPACE,
        )
    except ValidationError as error:
        form.take(error)
        return None


def _update(request: PageRequest, key: ApiKey, form: KeyForm) -> bool:
    def write() -> bool:
        return member_actions.change_key(
            key,
            person=request.user,
            rules=form.rules(),
            compatibility=form.compatibility(),
            limits=form.limits(),
        )

    return save(request, form, write)


def _edit_form(request: PageRequest, key: ApiKey, workspace: Workspace) -> KeyForm:
    manages = may(request.user, Action.MANAGE_KEYS, workspace)
    held = frozenset(key.scopes)  # who only tightens is offered what there is
    form = KeyForm(
        request.POST or None,
        initial=initial_of(key),
        models=models_within(model_names(), [] if manages else key.allowed_models),
        grantable=grantable_scopes(request.user, workspace) | held if manages else held,
    )
    form.tightens = None if manages else key
    return form


def _revoke_question(key: ApiKey) -> Question:
    return Question(
        title=f"Revoke “{key.label}”?",
        lines=[
            f"Calls with {key.shown_secret} are refused within a second. Running streams end.",
            "This cannot be undone. The usage of the key stays in the ledger.",
        ],
        action=page_address(key.workspace, "key-revoke", key.pk),
        button="Revoke key",
        back=page_address(key.workspace, "key-edit", key.pk),
    )


def _policy_for(person: User, workspace: Workspace) -> DeveloperKeyPolicy | None:
    """Return the most that a key of this person may do, None for who manages keys."""
    return None if may(person, Action.MANAGE_KEYS, workspace) else policy_of(workspace)


def _require_change(request: PageRequest, key: ApiKey) -> None:
    if not may_change(request.user, key):
        raise NotAllowed(member_actions.REFUSED)


def _new_key(
    request: PageRequest, form: NewKeyForm, policy: DeveloperKeyPolicy | None, *, status: int
) -> HttpResponse:
    return render_page(
        request,
        page="dashboard/keys/new.html",
        partial="dashboard/keys/_new.html",
        context=KeyFormContext(
            form=form,
            token=new_form_token(),
            maximum=policy_lines(policy) if policy else [],
        ),
        status=status,
    )


def _imported(request: PageRequest, key: ApiKey) -> HttpResponse:
    messages.success(request, f"{key.label} is imported. Calls with it are accepted.")
    url = page_address(key.workspace, "key-edit", key.pk)
    if request.htmx:
        return HttpResponse(status=204, headers={"HX-Redirect": url})
    return HttpResponseRedirect(url)


def _key_page(
    request: PageRequest,
    key: ApiKey,
    form: KeyForm | None,
    workspace: Workspace,
    *,
    status: int = 200,
) -> HttpResponse:
    spending, person = spending_rows(key), request.user
    manages = may(person, Action.MANAGE_KEYS, workspace)
    is_live = key.revoked_at is None
    context = KeyPageContext(
        row=with_use([key], workspace)[0],
        spending=spending,
        form=form,
        history=history(history_of(workspace, str(key.pk), limit=SHOWN)),
        may_revoke=is_live and may_change(person, key),
        may_transfer=is_live and manages and key.created_by_id is not None,
        may_rotate=key.is_usable and may_edit(person, key),
        may_reset=is_live
        and manages
        and spending[-1].limit_nusd is not None
        and spending[-1].spent_nusd > 0,
        raises=raise_rows(key),
        may_raise=is_live and manages and has_budget(key),
        is_tightened_only=not manages,
        why_not=_why_not(person, key) if form is None and is_live else "",
        lost_scopes=scopes_without_effect(key) if is_live else [],
        workspace_rules=rule_lines(access_rules_of(workspace)),
        limits=limits_of_key(key),
        budgets=budgets_over(key),
        may_limit=is_live and may_manage(person, workspace),
        mandatory=mandatory_lines(mandatory_for(key), person, workspace),
        may_require=is_live and may(person, Action.MANAGE_WORKSPACE, workspace),
        explain_url=explain_key_url(person, key),
    )
    return render(request, "dashboard/keys/key.html", vars(context), status=status)


def _why_not(person: User, key: ApiKey) -> str:
    """Return why somebody who makes keys may not edit this one; empty for those who make none."""
    if not may(person, Action.MAKE_KEYS, key.workspace):
        return ""
    if not may_change(person, key):
        return member_actions.REFUSED
    return member_actions.ABOVE
