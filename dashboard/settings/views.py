"""The settings of a workspace: its name, profile, limits, whether it keeps bodies, and the lock."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from accounts.models import Workspace
from accounts.permissions import Action, may
from accounts.services import (
    lock_workspace,
    rename_workspace,
    set_call_limits,
    set_profile,
    set_stores_bodies,
    unlock_workspace,
)
from dashboard.access_rules.words import rule_lines
from dashboard.forms.save import is_written
from dashboard.forms.version_token import lock_row, save_unchanged
from dashboard.http.current_workspace import require
from dashboard.http.htmx import PageRequest, variables
from dashboard.http.page_urls import page_address
from dashboard.key_policy.limits_text import policy_lines
from dashboard.settings.forms import (
    LockForm,
    NameForm,
    ProfileForm,
    WorkspaceLimitsForm,
    limits_version,
)
from dashboard.ui.confirm import Question, ask
from keys.access import access_rules_of
from keys.policy import policy_of
from keys.selectors import count_usable_keys


@dataclass(frozen=True, kw_only=True)
class SettingsContext:
    """Variables of dashboard/settings/settings.html."""

    workspace: Workspace
    name_form: forms.Form
    profile_form: forms.Form
    limits_form: forms.Form
    may_unlock: bool
    access_rules: list[str]
    developer_keys: list[str]


@login_required
@require_GET
def show_settings(request: PageRequest) -> HttpResponse:
    return _page(request, require(request, Action.MANAGE_WORKSPACE))


@login_required
@require_POST
def rename(request: PageRequest) -> HttpResponse:
    workspace = require(request, Action.MANAGE_WORKSPACE)
    form = NameForm(request.POST)

    def write() -> None:
        rename_workspace(workspace, name=form.cleaned_data["name"], actor=request.user.email)

    if not is_written(form, write):
        return _page(request, workspace, name_form=form, status=422)
    messages.success(request, "Saved.")
    return _back(workspace)


@login_required
@require_POST
def choose_profile(request: PageRequest) -> HttpResponse:
    workspace = require(request, Action.MANAGE_WORKSPACE)
    form = ProfileForm(request.POST)

    def write() -> None:
        wanted = form.cleaned_data["compat_profile"]
        set_profile(workspace, compat_profile=wanted, actor=request.user.email)

    if not is_written(form, write):
        return _page(request, workspace, profile_form=form, status=422)
    messages.success(request, "Saved.")
    return _back(workspace)


@login_required
@require_POST
def choose_limits(request: PageRequest) -> HttpResponse:
    workspace = require(request, Action.MANAGE_WORKSPACE)
    form = WorkspaceLimitsForm(request.POST)

    def write() -> None:
        set_call_limits(workspace, actor=request.user.email, **form.limits())

    status = save_unchanged(
        form,
        "workspace",
        lambda: limits_version(lock_row(workspace)),
        lambda: is_written(form, write),
    )
    if status != HTTPStatus.FOUND:
        return _page(request, workspace, limits_form=form, status=status)
    messages.success(request, "Saved. Changes apply within a second.")
    return _back(workspace)


@login_required
@require_http_methods(["GET", "POST"])
def store_bodies(request: PageRequest) -> HttpResponse:
    """Ask whether to keep bodies from now on, or not any more; or do it."""
    workspace = require(request, Action.MANAGE_WORKSPACE)
    if request.method == "GET":
        return ask(request, _bodies_question(workspace))
    is_on = request.POST.get("stores_bodies") == "on"
    if set_stores_bodies(workspace, stores_bodies=is_on, actor=request.user.email):
        words = "Request logging is on." if is_on else "Request logging is off."
        messages.success(request, words)
    return _back(workspace)


@login_required
@require_http_methods(["GET", "POST"])
def lock(request: PageRequest) -> HttpResponse:
    """Ask for the reason and the name of the workspace, or lock it."""
    workspace = require(request, Action.MANAGE_WORKSPACE)
    if workspace.locked_at and request.method == "GET":
        return _back(workspace)
    form = LockForm(request.POST if request.method == "POST" else None, workspace=workspace.name)

    def write() -> None:
        lock_workspace(workspace, reason=form.cleaned_data["reason"], actor=request.user.email)

    if request.method == "GET":
        return ask(request, _lock_question(workspace, form))
    if not is_written(form, write):
        return ask(request, _lock_question(workspace, form), status=422)
    messages.success(request, "The workspace is locked. All calls are refused.")
    return _back(workspace)


@login_required
@require_POST
def unlock(request: PageRequest) -> HttpResponse:
    workspace = require(request, Action.UNLOCK_WORKSPACE)
    if unlock_workspace(workspace, actor=request.user.email):
        messages.success(request, "The workspace is unlocked.")
    return _back(workspace)


def _bodies_question(workspace: Workspace) -> Question:
    """Return what asks to turn the keeping of bodies round."""
    days = f"{settings.BODY_DAYS} day{'' if settings.BODY_DAYS == 1 else 's'}"
    action = page_address(workspace, "settings-bodies")
    back = page_address(workspace, "settings")
    if workspace.stores_bodies:
        return Question(
            title="Turn off request logging?",
            lines=[
                "Requests and responses of new calls are no longer stored. Those already stored"
                f" are deleted when they are {days} old."
            ],
            action=action,
            button="Turn off request logging",
            back=back,
            is_danger=False,
        )
    return Question(
        title="Turn on request logging?",
        lines=[
            "The request and response of every new call of"
            f" {workspace.name} are stored for {days}.",
            "They can contain personal data and secrets. Everyone who can view this"
            " workspace's calls can read them.",
        ],
        action=action,
        button="Turn on request logging",
        back=back,
        hidden={"stores_bodies": "on"},
    )


def _lock_question(workspace: Workspace, form: LockForm) -> Question:
    keys = count_usable_keys([workspace.pk]).get(workspace.pk, 0)
    return Question(
        title=f"Lock {workspace.name}?",
        lines=[
            f"All calls of {'its only key' if keys == 1 else f'its {keys:,} keys'} are refused"
            " within a second. Running streams end.",
            "Only an operator can unlock it. Keys, credits and call records are kept.",
        ],
        action=page_address(workspace, "settings-lock"),
        button="Lock workspace",
        back=page_address(workspace, "settings"),
        form=form,
    )


def _back(workspace: Workspace) -> HttpResponse:
    return HttpResponseRedirect(page_address(workspace, "settings"))


def _page(
    request: PageRequest,
    workspace: Workspace,
    *,
    name_form: forms.Form | None = None,
    profile_form: forms.Form | None = None,
    limits_form: forms.Form | None = None,
    status: int = 200,
) -> HttpResponse:
    context = SettingsContext(
        workspace=workspace,
        name_form=name_form or NameForm(initial={"name": workspace.name}),
        profile_form=profile_form
        or ProfileForm(initial={"compat_profile": workspace.compat_profile}),
        limits_form=limits_form or WorkspaceLimitsForm.of(workspace),
        may_unlock=may(request.user, Action.UNLOCK_WORKSPACE, workspace),
        access_rules=rule_lines(access_rules_of(workspace)),
        developer_keys=policy_lines(policy_of(workspace)),
    )
    return render(request, "dashboard/settings/settings.html", variables(context), status=status)
