"""The providers of the installation, for its operators. No page ever holds a credential."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from accounts.audit_selectors import installation_history_of
from accounts.permissions import Action
from dashboard.forms.providers import (
    VLLM,
    NewProviderForm,
    ProviderForm,
    initial_of_provider,
    provider_mark,
)
from dashboard.forms.refusal import show_conflict
from dashboard.history import SHOWN, Line, history
from dashboard.htmx import PageRequest, render_page, variables
from dashboard.list_query import read_text
from dashboard.workspace import require_operator
from gateway.models import Provider
from gateway.selectors.catalogue import (
    ModelRow,
    ProviderRow,
    model_rows,
    provider_row,
    provider_rows,
)
from gateway.services.providers import (
    add_provider,
    set_access,
    set_provider_enabled,
    update_provider,
)

MODELS_SHOWN = 12


@dataclass(frozen=True)
class ProviderListContext:
    """Variables of dashboard/providers/list.html and _table.html."""

    rows: list[ProviderRow]
    query: str


@dataclass(frozen=True)
class NewProviderContext:
    """Variables of dashboard/providers/new.html."""

    form: NewProviderForm


@dataclass(frozen=True)
class ProviderPageContext:
    """Variables of dashboard/providers/provider.html. models: the first of its models."""

    row: ProviderRow
    is_vllm: bool
    form: ProviderForm
    models: list[ModelRow]
    history: list[Line]


@login_required
@require_GET
def list_providers(request: PageRequest) -> HttpResponse:
    require_operator(request, Action.MANAGE_CATALOGUE)
    query = read_text(request.GET)
    return render_page(
        request,
        page="dashboard/providers/list.html",
        partial="dashboard/providers/_table.html",
        context=ProviderListContext(rows=provider_rows(text=query), query=query),
    )


@sensitive_variables()
@login_required
@require_http_methods(["GET", "POST"])
def create_provider(request: PageRequest) -> HttpResponse:
    require_operator(request, Action.MANAGE_CATALOGUE)
    form = NewProviderForm(request.POST or None)
    provider = _add(request, form) if request.method == "POST" and form.is_valid() else None
    if provider is None:
        status = 200 if request.method == "GET" else 422
        context = variables(NewProviderContext(form=form))
        return render(request, "dashboard/providers/new.html", context, status=status)
    messages.success(request, f"{provider} is ready. Give it a model that callers can use.")
    return _to_provider(provider)


@sensitive_variables()
@login_required
@require_http_methods(["GET", "POST"])
def edit_provider(request: PageRequest, provider_id: UUID) -> HttpResponse:
    require_operator(request, Action.MANAGE_CATALOGUE)
    provider = get_object_or_404(Provider, pk=provider_id)
    form = ProviderForm(request.POST or None, initial=initial_of_provider(provider))
    if request.method == "GET":
        return _provider_page(request, provider, form)
    if form.is_valid() and form.cleaned_data["seen"] != provider_mark(provider):
        show_conflict(form, "provider")
        return _provider_page(request, provider, form, status=409)
    if form.is_valid() and _update(request, provider, form):
        return _to_provider(provider)
    provider.refresh_from_db()
    return _provider_page(request, provider, form, status=422)


@login_required
@require_POST
def switch_provider(request: PageRequest, provider_id: UUID) -> HttpResponse:
    require_operator(request, Action.MANAGE_CATALOGUE)
    provider = get_object_or_404(Provider, pk=provider_id)
    is_on = request.POST.get("enabled") == "on"
    if set_provider_enabled(provider, enabled=is_on, actor=request.user.email):
        words = "is used again" if is_on else "gets no more calls"
        messages.success(request, f"{provider} {words}.")
    return _to_provider(provider)


@sensitive_variables()
def _add(request: PageRequest, form: NewProviderForm) -> Provider | None:
    """Return the new provider, or None with the reasons in the form."""
    data = form.cleaned_data
    try:
        return add_provider(
            name=data["name"],
            kind=data["kind"],
            base_url=data["base_url"],
            credential=data["credential"] or None,
            actor=request.user.email,
            **form.described(),
        )
    except ValidationError as error:
        form.take(error)
        return None


@sensitive_variables()
def _update(request: PageRequest, provider: Provider, form: ProviderForm) -> bool:
    who, data = request.user.email, form.cleaned_data
    try:
        with transaction.atomic():
            changed = [
                set_access(
                    provider,
                    base_url=data["base_url"],
                    credential=data["credential"] or None,
                    actor=who,
                ),
                update_provider(provider, actor=who, **form.described()),
            ]
    except ValidationError as error:
        form.take(error)
        return False
    words = "Saved. It holds within a second." if any(changed) else "Nothing changed."
    messages.success(request, words)
    return True


def _to_provider(provider: Provider) -> HttpResponse:
    return HttpResponseRedirect(reverse("dashboard:provider-edit", args=[provider.pk]))


def _provider_page(
    request: PageRequest, provider: Provider, form: ProviderForm, *, status: int = 200
) -> HttpResponse:
    context = ProviderPageContext(
        row=provider_row(provider),
        is_vllm=provider.kind == VLLM,
        form=form,
        models=model_rows(provider=provider.name, limit=MODELS_SHOWN),
        history=history(installation_history_of("provider", provider.name, limit=SHOWN)),
    )
    return render(request, "dashboard/providers/provider.html", variables(context), status=status)
