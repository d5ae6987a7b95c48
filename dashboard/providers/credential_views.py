"""The credentials of a provider: add, change, remove. No page ever holds one."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_http_methods

from accounts.permissions import Action
from dashboard.forms.save import save
from dashboard.forms.version_token import lock_row, save_unchanged
from dashboard.http.current_workspace import require_operator
from dashboard.http.htmx import PageRequest, variables
from dashboard.providers.credential_form import CredentialForm, credential_version
from dashboard.ui.confirm import Question, ask
from gateway.models import Provider, ProviderCredential
from gateway.services.provider_credentials import (
    add_credential,
    remove_credential,
    update_credential,
)


@dataclass(frozen=True, kw_only=True)
class CredentialContext:
    """Variables of dashboard/providers/credential.html. row: None for a new one."""

    provider: Provider
    row: ProviderCredential | None
    form: CredentialForm


@sensitive_variables()
@login_required
@require_http_methods(["GET", "POST"])
def create_credential(request: PageRequest, provider_id: UUID) -> HttpResponse:
    require_operator(request, Action.MANAGE_CATALOGUE)
    provider = get_object_or_404(Provider, pk=provider_id)
    form = CredentialForm(request.POST or None, provider, None)

    def write() -> bool:
        add_credential(
            provider,
            credential=form.credential_text(),
            actor=request.user.email,
            **form.values(),
        )
        return True

    if request.method == "POST" and form.is_valid() and save(request, form, write):
        return _to_provider(provider)
    return _page(request, provider, None, form)


@sensitive_variables()
@login_required
@require_http_methods(["GET", "POST"])
def edit_credential(request: PageRequest, provider_id: UUID, credential_id: UUID) -> HttpResponse:
    row = _find(request, provider_id, credential_id)
    form = CredentialForm(request.POST or None, row.provider, row)
    if request.method == "GET":
        return _page(request, row.provider, row, form)

    def write() -> bool:
        return update_credential(
            row,
            credential=form.changed_credential(row),
            actor=request.user.email,
            **form.values(),
        )

    status = save_unchanged(
        form,
        "credential",
        lambda: credential_version(lock_row(row)),
        lambda: save(request, form, write),
    )
    if status == HTTPStatus.FOUND:
        return _to_provider(row.provider)
    row.refresh_from_db()
    return _page(request, row.provider, row, form, status=status)


@login_required
@require_http_methods(["GET", "POST"])
def delete_credential(request: PageRequest, provider_id: UUID, credential_id: UUID) -> HttpResponse:
    """Ask whether to remove the credential, or remove it."""
    row = _find(request, provider_id, credential_id)
    provider = row.provider
    if request.method == "GET":
        question = Question(
            title=f"Remove the credential {row.name}?",
            lines=["After one second it is not used for new calls. Running calls continue."],
            action=reverse("dashboard:credential-remove", args=[provider.pk, row.pk]),
            button="Remove credential",
            back=reverse("dashboard:provider-edit", args=[provider.pk]),
        )
        return ask(request, question)
    try:
        remove_credential(row, actor=request.user.email)
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    else:
        messages.success(request, f"The credential {row.name} is removed.")
    return _to_provider(provider)


def _find(request: PageRequest, provider_id: UUID, credential_id: UUID) -> ProviderCredential:
    """Return the credential for an operator. Raises Http404, PermissionDenied."""
    require_operator(request, Action.MANAGE_CATALOGUE)
    rows = ProviderCredential.objects.select_related("provider")
    return get_object_or_404(rows, pk=credential_id, provider=provider_id)


def _to_provider(provider: Provider) -> HttpResponse:
    return HttpResponseRedirect(reverse("dashboard:provider-edit", args=[provider.pk]))


def _page(
    request: PageRequest,
    provider: Provider,
    row: ProviderCredential | None,
    form: CredentialForm,
    *,
    status: int = 0,
) -> HttpResponse:
    context = variables(CredentialContext(provider=provider, row=row, form=form))
    status = status or (422 if form.is_bound else 200)
    return render(request, "dashboard/providers/credential.html", context, status=status)
