"""Rotate a key: ask how long the old secret is to work, and show the new one, once."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from django import forms
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.http import HttpResponse, QueryDict
from django.shortcuts import get_object_or_404
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_http_methods

from accounts.permissions import NotAllowed
from dashboard.forms.service_errors import show_service_error
from dashboard.forms.submit_once import TokenSpent, new_form_token, spend_form_token
from dashboard.http.current_workspace import current_workspace
from dashboard.http.htmx import PageRequest
from dashboard.http.page_urls import page_address
from dashboard.keys.issued import show_issued
from dashboard.ui.confirm import Question, ask
from keys import member_actions
from keys.models import ApiKey
from keys.selectors import keys_visible_to, may_change

OVERLAPS = {
    "0": "Not at all",
    "1": "1 hour",
    "24": "24 hours",
    "72": "3 days",
    "168": "7 days",
}


class RotateForm(forms.Form):
    overlap = forms.ChoiceField(
        choices=list(OVERLAPS.items()),
        initial="24",
        label="The old secret works for",
        help_text="Both secrets share the limits and budgets of the key.",
    )

    def __init__(self, data: QueryDict | None = None) -> None:
        super().__init__(data)

    def chosen(self) -> timedelta:
        """Return the overlap of a valid form."""
        return timedelta(hours=int(self.cleaned_data["overlap"]))


@sensitive_variables()
@login_required
@require_http_methods(["GET", "POST"])
def rotate(request: PageRequest, key_id: UUID) -> HttpResponse:
    workspace = current_workspace(request)
    key = get_object_or_404(keys_visible_to(request.user, workspace), pk=key_id)
    if not may_change(request.user, key):
        raise NotAllowed(member_actions.REFUSED)
    if request.method == "GET":
        return ask(request, _question(key, RotateForm()))
    form = RotateForm(request.POST)
    try:
        if form.is_valid():
            done = "The new secret was shown once."
            spend_form_token(request.POST.get("token", ""), done=done)
            rotated = member_actions.rotate_key(key, person=request.user, overlap=form.chosen())
            return show_issued(request, rotated)
    except TokenSpent as spent:
        form.add_error(None, str(spent))
        return ask(request, _question(key, form), status=409)
    except ValidationError as error:
        show_service_error(form, error)
    return ask(request, _question(key, form), status=422)


def _question(key: ApiKey, form: RotateForm) -> Question:
    return Question(
        title=f"Rotate “{key.label}”?",
        lines=[
            f"The key gets a new secret in place of {key.shown_secret}. Its rules, limits, usage"
            " and expiry stay."
        ],
        action=page_address(key.workspace, "key-rotate", key.pk),
        button="Rotate key",
        back=page_address(key.workspace, "key-edit", key.pk),
        form=form,
        hidden={"token": new_form_token()},
        is_danger=False,
    )
