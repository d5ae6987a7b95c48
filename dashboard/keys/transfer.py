"""Transfer a member's key to its workspace, as a service key."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_http_methods

from accounts.permissions import Action
from dashboard.http.current_workspace import current_workspace, require
from dashboard.http.htmx import PageRequest
from dashboard.http.page_urls import page_address
from dashboard.ui.confirm import Question, ask
from keys import member_actions
from keys.models import ApiKey
from keys.selectors import keys_visible_to


@login_required
@require_http_methods(["GET", "POST"])
def transfer(request: PageRequest, key_id: UUID) -> HttpResponse:
    workspace = current_workspace(request)
    key = get_object_or_404(keys_visible_to(request.user, workspace), pk=key_id)
    require(request, Action.MANAGE_KEYS)
    if request.method == "GET":
        return ask(request, _question(key))
    if member_actions.transfer_key(key, person=request.user):
        messages.success(request, f"{key.label} is a service key now.")
    return HttpResponseRedirect(page_address(workspace, "key-edit", key.pk))


def _question(key: ApiKey) -> Question:
    owner = key.created_by.email if key.created_by else "the workspace"
    return Question(
        title=f"Transfer “{key.label}” to the workspace?",
        lines=[
            f"The key no longer belongs to {owner}. It keeps working whatever their role is, and"
            " only owners and admins can change it.",
            "This cannot be undone.",
        ],
        action=page_address(key.workspace, "key-transfer", key.pk),
        button="Transfer key",
        back=page_address(key.workspace, "key-edit", key.pk),
        is_danger=False,
    )
