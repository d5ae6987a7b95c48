"""The addresses that name no workspace: of the first page, and of links from before they did."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib.auth.mixins import LoginRequiredMixin
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.views import View

from accounts.models import Invitation, Membership, User, Workspace
from accounts.selectors import workspaces_of
from dashboard.http.current_workspace import current_workspace
from gateway.models import CallRecord
from keys.models import ApiKey, KeyImport


class MovedPage(LoginRequiredMixin, View):
    """Leads to the page in the workspace of what it shows, where the person may open that, and
    else in the one they looked at last. Forms are not sent on."""

    def get(self, request: HttpRequest, **kwargs: Any) -> HttpResponse:
        workspace = _workspace_of(request, **kwargs) or current_workspace(request)
        page = request.get_full_path().removeprefix("/")
        separator = "/" if page and not page.startswith("?") else ""
        return HttpResponseRedirect(f"/w/{workspace.slug}{separator}{page}")


def _workspace_of(
    request: HttpRequest,
    key_id: UUID | None = None,
    call_id: UUID | None = None,
    membership_id: int | None = None,
    invitation_id: UUID | None = None,
    import_id: UUID | None = None,
) -> Workspace | None:
    """Return the workspace of what an old address names; None when there is none to be seen."""
    if not isinstance(request.user, User):
        return None
    rows: list[QuerySet[Model] | None] = [
        ApiKey.objects.filter(pk=key_id) if key_id else None,
        CallRecord.objects.filter(pk=call_id) if call_id else None,
        Membership.objects.filter(pk=membership_id) if membership_id else None,
        Invitation.objects.filter(pk=invitation_id) if invitation_id else None,
        KeyImport.objects.filter(pk=import_id) if import_id else None,
    ]
    for found in rows:
        if found is not None:
            ids = found.values_list("workspace_id", flat=True)[:1]
            return workspaces_of(request.user).filter(pk__in=list(ids)).first()
    return None
