"""The settings of a workspace: its name, profile, limits, whether it keeps bodies, and the lock."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.views.decorators.http import require_GET, require_POST

from accounts.limits import RANGES
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
from dashboard.addresses import page_address
from dashboard.forms.limits import CallLimitsForm
from dashboard.forms.settings import LockForm, NameForm, ProfileForm
from dashboard.htmx import PageRequest, variables
from dashboard.key_policy_words import policy_lines
from dashboard.workspace import require
from keys.policy import policy_of


@dataclass(frozen=True)
class SettingsContext:
    """Variables of dashboard/settings/settings.html."""

    workspace: Workspace
    name_form: forms.Form
    profile_form: forms.Form
    limits_form: forms.Form
    lock_form: forms.Form
    may_unlock: bool
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

    if not _done(form, write):
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

    if not _done(form, write):
        return _page(request, workspace, profile_form=form, status=422)
    messages.success(request, "Saved.")
    return _back(workspace)


@login_required
@require_POST
def choose_limits(request: PageRequest) -> HttpResponse:
    workspace = require(request, Action.MANAGE_WORKSPACE)
    form = CallLimitsForm(request.POST)

    def write() -> None:
        set_call_limits(workspace, actor=request.user.email, **form.limits())

    if not _done(form, write):
        return _page(request, workspace, limits_form=form, status=422)
    messages.success(request, "Saved. It holds within a second.")
    return _back(workspace)


@login_required
@require_POST
def store_bodies(request: PageRequest) -> HttpResponse:
    workspace = require(request, Action.MANAGE_WORKSPACE)
    is_on = request.POST.get("stores_bodies") == "on"
    if set_stores_bodies(workspace, stores_bodies=is_on, actor=request.user.email):
        words = "Bodies of new calls are kept." if is_on else "Bodies of new calls are not kept."
        messages.success(request, words)
    return _back(workspace)


@login_required
@require_POST
def lock(request: PageRequest) -> HttpResponse:
    workspace = require(request, Action.MANAGE_WORKSPACE)
    form = LockForm(request.POST)

    def write() -> None:
        lock_workspace(workspace, reason=form.cleaned_data["reason"], actor=request.user.email)

    if not _done(form, write):
        return _page(request, workspace, lock_form=form, status=422)
    messages.success(request, "The workspace is locked: its calls are refused.")
    return _back(workspace)


@login_required
@require_POST
def unlock(request: PageRequest) -> HttpResponse:
    workspace = require(request, Action.UNLOCK_WORKSPACE)
    if unlock_workspace(workspace, actor=request.user.email):
        messages.success(request, "The workspace is open again.")
    return _back(workspace)


def _done(form: forms.Form, write: Callable[[], None]) -> bool:
    """True when the form was well filled in and its change is made; else the form says why not."""
    if not form.is_valid():
        return False
    try:
        write()
    except ValidationError as error:
        form.add_error(None, error)
        return False
    return True


def _back(workspace: Workspace) -> HttpResponse:
    return HttpResponseRedirect(page_address(workspace, "settings"))


def _page(
    request: PageRequest,
    workspace: Workspace,
    *,
    name_form: forms.Form | None = None,
    profile_form: forms.Form | None = None,
    limits_form: forms.Form | None = None,
    lock_form: forms.Form | None = None,
    status: int = 200,
) -> HttpResponse:
    context = SettingsContext(
        workspace=workspace,
        name_form=name_form or NameForm(initial={"name": workspace.name}),
        profile_form=profile_form
        or ProfileForm(initial={"compat_profile": workspace.compat_profile}),
        limits_form=limits_form
        or CallLimitsForm(initial={name: getattr(workspace, name) for name in RANGES}),
        lock_form=lock_form or LockForm(),
        may_unlock=may(request.user, Action.UNLOCK_WORKSPACE, workspace),
        developer_keys=policy_lines(policy_of(workspace)),
    )
    return render(request, "dashboard/settings/settings.html", variables(context), status=status)
