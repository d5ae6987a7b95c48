"""The access rules that all keys of a workspace are under, for who manages it."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.views.decorators.http import require_http_methods

from accounts.models import Workspace
from accounts.permissions import Action
from dashboard.access_rules.forms import AccessRulesForm, initial_rules, rules_version
from dashboard.forms.save import save
from dashboard.forms.version_token import lock_row, save_unchanged
from dashboard.http.current_workspace import require
from dashboard.http.htmx import PageRequest, variables
from dashboard.http.page_urls import page_address
from gateway.selectors.key_use import model_names
from keys.access import access_rules_of, set_access_rules


@dataclass(frozen=True)
class AccessRulesContext:
    """Variables of dashboard/access_rules/rules.html. country_header: empty where none is set."""

    form: AccessRulesForm
    country_header: str


@login_required
@require_http_methods(["GET", "POST"])
def edit_rules(request: PageRequest) -> HttpResponse:
    workspace = require(request, Action.MANAGE_WORKSPACE)
    form = AccessRulesForm(
        request.POST or None,
        initial=initial_rules(access_rules_of(workspace)),
        models=model_names(),
    )
    status = HTTPStatus.OK
    if request.method == "POST":
        status = save_unchanged(
            form,
            "workspace",
            lambda: rules_version(access_rules_of(lock_row(workspace))),
            lambda: _save(request, workspace, form),
        )
        if status == HTTPStatus.FOUND:
            return HttpResponseRedirect(page_address(workspace, "settings"))
    return render(
        request,
        "dashboard/access_rules/rules.html",
        variables(AccessRulesContext(form, settings.COUNTRY_HEADER)),
        status=status,
    )


def _save(request: PageRequest, workspace: Workspace, form: AccessRulesForm) -> bool:
    def write() -> bool:
        return set_access_rules(workspace, actor=request.user.email, **form.rules())

    return save(request, form, write)
