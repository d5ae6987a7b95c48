"""Tests a provider with one real call, which it charges the operator for."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.http import require_POST

from accounts.permissions import Action
from dashboard.http.current_workspace import require_operator
from dashboard.http.htmx import PageRequest, variables, wants_partial
from dashboard.providers.call_form import CallForm
from gateway.models import Provider
from gateway.services.provider_calls import CallTest, make_test_call


@dataclass(frozen=True, kw_only=True)
class CallContext:
    """Variables of dashboard/providers/_call.html. made: what came of the call; None before it."""

    provider: Provider
    call_form: CallForm
    made: CallTest | None = None


@login_required
@require_POST
def make_call(request: PageRequest, provider_id: UUID) -> HttpResponse:
    """Make the call, and say what came of it: in its card, or without JavaScript on top of the
    provider's page."""
    require_operator(request, Action.MANAGE_CATALOGUE)
    provider = get_object_or_404(Provider, pk=provider_id)
    form = CallForm(request.POST, provider)
    made = _make(request, provider, form) if form.is_valid() else None
    if wants_partial(request):
        context = CallContext(provider=provider, call_form=form, made=made)
        return render(request, "dashboard/providers/_call.html", variables(context))
    if made is None:
        said = (str(error) for errors in form.errors.values() for error in errors)
        messages.error(request, " ".join(said))
    else:
        tell = messages.success if made.finding.is_reachable else messages.error
        tell(request, made.finding.message)
    return HttpResponseRedirect(reverse("dashboard:provider-edit", args=[provider.pk]))


def _make(request: PageRequest, provider: Provider, form: CallForm) -> CallTest | None:
    """Return what came of the call, or None with the reasons in the form."""
    data = form.cleaned_data
    try:
        return make_test_call(
            provider,
            model=data["model"],
            credential=data["credential"],
            actor=request.user.email,
        )
    except ValidationError as error:
        form.take(error)
        return None
