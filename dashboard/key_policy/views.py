"""The most that keys made by developers may do in a workspace, for who manages its keys."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.views.decorators.http import require_http_methods

from accounts.models import Workspace
from accounts.permissions import Action
from dashboard.forms.save import save
from dashboard.forms.version_token import lock_row, save_unchanged
from dashboard.http.current_workspace import require
from dashboard.http.htmx import PageRequest, variables
from dashboard.http.page_urls import page_address
from dashboard.key_policy.forms import KeyPolicyForm, initial_of_policy, policy_version
from gateway.selectors.key_use import model_names
from keys.policy import policy_of
from keys.selectors import DEVELOPER_SCOPES
from keys.services import set_developer_key_policy


@dataclass(frozen=True)
class KeyPolicyContext:
    """Variables of dashboard/key_policy/policy.html."""

    form: KeyPolicyForm


@login_required
@require_http_methods(["GET", "POST"])
def edit_policy(request: PageRequest) -> HttpResponse:
    workspace = require(request, Action.MANAGE_KEYS)
    form = KeyPolicyForm(
        request.POST or None,
        initial=initial_of_policy(policy_of(workspace), DEVELOPER_SCOPES),
        models=model_names(),
        grantable=DEVELOPER_SCOPES,
    )
    status = HTTPStatus.OK
    if request.method == "POST":
        status = save_unchanged(
            form,
            "maximum",
            lambda: policy_version(policy_of(lock_row(workspace))),
            lambda: _save(request, workspace, form),
        )
        if status == HTTPStatus.FOUND:
            return HttpResponseRedirect(page_address(workspace, "settings"))
    return render(
        request,
        "dashboard/key_policy/policy.html",
        variables(KeyPolicyContext(form)),
        status=status,
    )


def _save(request: PageRequest, workspace: Workspace, form: KeyPolicyForm) -> bool:
    def write() -> bool:
        return set_developer_key_policy(workspace, actor=request.user.email, **form.policy())

    return save(request, form, write, words="Saved.")
