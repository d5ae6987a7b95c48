"""The providers of the installation, for its operators. No page ever holds a credential."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
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

from accounts.all_errors import raising_all
from accounts.audit_selectors import installation_history_of
from accounts.permissions import Action
from dashboard.audit.history import SHOWN, Line, history
from dashboard.forms.version_token import changed_meanwhile, lock_row, save_unchanged
from dashboard.http.current_workspace import require_operator
from dashboard.http.htmx import PageRequest, render_page, variables, wants_partial
from dashboard.http.query_params import read_text
from dashboard.providers.call_form import CallForm
from dashboard.providers.connection import Connection, connection_of
from dashboard.providers.credential_fields import SECRET_FIELDS
from dashboard.providers.credential_table import ListedCredential, credential_table
from dashboard.providers.forms import (
    NewProviderForm,
    ProviderForm,
    initial_of_provider,
    version_for,
)
from dashboard.providers.table import ListedProvider, provider_table
from dashboard.ui.confirm import Question, ask
from dashboard.ui.tables import Table
from gateway.models import Provider
from gateway.providers import catalogue
from gateway.selectors.catalogue import (
    ModelRow,
    ProviderRow,
    model_rows,
    models_served_by_none_but,
    provider_row,
    provider_rows,
)
from gateway.services.provider_connections import (
    connection_warnings,
    proxy_of,
    set_connection,
    used_transport,
)
from gateway.services.provider_tests import check_connection, check_new_access
from gateway.services.providers import (
    add_provider,
    has_credentials,
    set_access,
    set_provider_enabled,
    update_provider,
)

MODELS_SHOWN = 12
SAVE_ANYWAY = "save_anyway"
SHOW_KIND = "show_kind"


@dataclass(frozen=True)
class ProviderListContext:
    """Variables of dashboard/providers/list.html; htmx gets the table alone."""

    table: Table[ListedProvider]
    query: str


@dataclass(frozen=True)
class NewProviderContext:
    """Variables of dashboard/providers/new.html; htmx gets the fields of the kind alone. unsent:
    the fields that are not sent to choose another kind."""

    form: NewProviderForm
    unsent: str = ", ".join(SECRET_FIELDS)


@dataclass(frozen=True, kw_only=True)
class ProviderPageContext:
    """Variables of dashboard/providers/provider.html. models: the first of its models. asks_anyway:
    what was entered failed its test, and can be saved in spite of that. used_transport, proxy_url:
    what calls go by. warnings: of its certificates."""

    row: ProviderRow
    connection: Connection
    form: ProviderForm
    models: list[ModelRow]
    history: list[Line]
    asks_anyway: bool
    used_transport: str
    proxy_url: str
    warnings: list[str]
    credentials: Table[ListedCredential]
    has_credentials: bool
    call_form: CallForm


@dataclass
class Changed:
    """What of a provider was changed by a form."""

    access: bool = False
    description: bool = False


@dataclass(frozen=True)
class ConnectionContext:
    """Variables of dashboard/providers/_connection.html."""

    row: ProviderRow
    connection: Connection


@login_required
@require_GET
def list_providers(request: PageRequest) -> HttpResponse:
    require_operator(request, Action.MANAGE_CATALOGUE)
    query = read_text(request.GET)
    return render_page(
        request,
        page="dashboard/providers/list.html",
        partial="components/_list.html",
        context=ProviderListContext(provider_table(provider_rows(text=query), query), query),
    )


@sensitive_variables()
@login_required
@require_http_methods(["GET", "POST"])
def create_provider(request: PageRequest) -> HttpResponse:
    require_operator(request, Action.MANAGE_CATALOGUE)
    if request.method == "GET" or SHOW_KIND in request.POST:
        return _new_page(request, _unsent_form(request))
    kind = catalogue.BY_NAME.get(request.POST.get("kind", ""))
    form = NewProviderForm(request.POST, kind, {})
    provider = _add(request, form) if form.is_valid() else None
    if provider is None:
        return _new_page(request, form, status=422)
    finding = check_connection(provider)
    if finding.is_reachable:
        messages.success(request, f"{provider} is connected. Add a model that callers can use.")
    else:
        messages.error(request, f"{provider} is saved, but its test failed. {finding.message}")
    return _to_provider(provider)


def _unsent_form(request: PageRequest) -> NewProviderForm:
    """Return the form of the kind that was chosen, with what was entered before."""
    chosen = request.POST if request.method == "POST" else request.GET
    kind = catalogue.BY_NAME.get(chosen.get("kind", ""), catalogue.ALL[0])
    return NewProviderForm.of_kind(kind, chosen)


def _new_page(request: PageRequest, form: NewProviderForm, *, status: int = 200) -> HttpResponse:
    return render_page(
        request,
        page="dashboard/providers/new.html",
        partial="dashboard/providers/_kind_fields.html",
        context=NewProviderContext(form),
        status=status,
    )


@sensitive_variables()
@login_required
@require_http_methods(["GET", "POST"])
def edit_provider(request: PageRequest, provider_id: UUID) -> HttpResponse:
    require_operator(request, Action.MANAGE_CATALOGUE)
    provider = get_object_or_404(Provider, pk=provider_id)
    kind = catalogue.BY_NAME.get(provider.kind)
    form = ProviderForm(request.POST or None, kind, initial_of_provider(provider))
    if request.method == "GET":
        return _provider_page(request, provider, form)
    if form.is_valid() and changed_meanwhile(form, "provider", version_for(form, provider)):
        return _provider_page(request, provider, form, status=409)
    if form.is_valid() and (failed := _test_first(request, provider, form)):
        form.add_error(None, f"Not saved: the test of these settings failed. {failed}")
        return _provider_page(request, provider, form, status=422, asks_anyway=True)
    changed = Changed()
    status = save_unchanged(
        form,
        "provider",
        lambda: version_for(form, lock_row(provider)),
        lambda: _update(request, provider, form, changed),
    )
    if status == HTTPStatus.FOUND:
        _say_saved(request, provider, changed)
        return _to_provider(provider)
    provider.refresh_from_db()
    return _provider_page(request, provider, form, status=status)


@login_required
@require_POST
def check_provider(request: PageRequest, provider_id: UUID) -> HttpResponse:
    """Test the provider as it is saved."""
    require_operator(request, Action.MANAGE_CATALOGUE)
    provider = get_object_or_404(Provider, pk=provider_id)
    check_connection(provider)
    if not wants_partial(request):
        return _to_provider(provider)
    row = provider_row(provider)
    context = ConnectionContext(row=row, connection=connection_of(row))
    return render(request, "dashboard/providers/_connection.html", variables(context))


@login_required
@require_http_methods(["GET", "POST"])
def switch_provider(request: PageRequest, provider_id: UUID) -> HttpResponse:
    """Ask whether to switch the provider off, or switch it."""
    require_operator(request, Action.MANAGE_CATALOGUE)
    provider = get_object_or_404(Provider, pk=provider_id)
    if request.method == "GET":
        is_on = provider.enabled
        return ask(request, _switch_off_question(provider)) if is_on else _to_provider(provider)
    is_on = request.POST.get("enabled") == "on"
    if set_provider_enabled(provider, enabled=is_on, actor=request.user.email):
        words = "is enabled" if is_on else "is disabled"
        messages.success(request, f"{provider} {words}.")
    return _to_provider(provider)


def _switch_off_question(provider: Provider) -> Question:
    alone = models_served_by_none_but(provider)
    names = ", ".join(alone[:MODELS_SHOWN])
    more = f" and {len(alone) - MODELS_SHOWN} more" if len(alone) > MODELS_SHOWN else ""
    effect = (
        f"No other provider serves {names}{more}. Calls to {'it' if len(alone) == 1 else 'them'}"
        " get 503 until you enable it again."
        if alone
        else "Other providers also serve all of its models."
    )
    return Question(
        title=f"Disable {provider.name}?",
        lines=["It gets no new calls after one second. Running calls continue.", effect],
        action=reverse("dashboard:provider-switch", args=[provider.pk]),
        button="Disable provider",
        back=reverse("dashboard:provider-edit", args=[provider.pk]),
    )


@sensitive_variables()
def _add(request: PageRequest, form: NewProviderForm) -> Provider | None:
    """Return the new provider, or None with the reasons in the form."""
    data = form.cleaned_data
    try:
        with transaction.atomic():
            provider = add_provider(
                name=data["name"],
                kind=data["kind"],
                base_url=data["base_url"],
                credential=form.credential_text() or None,
                settings=form.entered_settings(),
                actor=request.user.email,
                **form.described(),
            )
            _set_connection(request, provider, form)
        return provider
    except ValidationError as error:
        form.take(error)
        return None


@sensitive_variables()
def _set_connection(request: PageRequest, provider: Provider, form: ProviderForm) -> bool:
    return set_connection(
        provider, actor=request.user.email, **form.connection(), **form.connection_secrets()
    )


@sensitive_variables()
def _test_first(request: PageRequest, provider: Provider, form: ProviderForm) -> str:
    """Return why the new address or credential fails, where the ones there are work: nobody
    replaces those without being asked. Nothing when it may be saved, or cannot be for other
    reasons."""
    data = form.cleaned_data
    credential = form.credential_text() or None
    if form.changes_connection(provider):
        return ""  # it is tested once it is saved
    settings = form.entered_settings()
    has_settings = {name: value for name, value in settings.items() if value.strip()}
    changes = (
        credential
        or data["base_url"].strip().rstrip("/") != provider.base_url
        or has_settings != provider.settings
    )
    health = provider_row(provider).health
    is_working = health is not None and health.answered_at and not health.failing_since
    if not (changes and is_working) or SAVE_ANYWAY in request.POST:
        return ""
    try:
        finding = check_new_access(
            provider, base_url=data["base_url"], settings=settings, credential=credential
        )
    except ValidationError:
        return ""
    return "" if finding.is_reachable else finding.message


@sensitive_variables()
def _update(request: PageRequest, provider: Provider, form: ProviderForm, changed: Changed) -> bool:
    who, data = request.user.email, form.cleaned_data
    try:
        with transaction.atomic(), raising_all() as gather:
            with gather():
                changed.access = set_access(
                    provider,
                    base_url=data["base_url"],
                    settings=form.entered_settings(),
                    credential=form.credential_text() or None,
                    actor=who,
                )
            with gather():
                changed.access |= _set_connection(request, provider, form)
            with gather():
                changed.description = update_provider(provider, actor=who, **form.described())
    except ValidationError as error:
        form.take(error)
        return False
    return True


def _say_saved(request: PageRequest, provider: Provider, changed: Changed) -> None:
    """Test the provider where calls reach it in another way now, and say what came of it."""
    finding = check_connection(provider) if changed.access else None
    if finding is not None and not finding.is_reachable:
        messages.error(request, f"Saved, but the test failed. {finding.message}")
    else:
        words = "Saved. Changes apply within a second."
        messages.success(
            request, words if changed.access or changed.description else "Nothing changed."
        )


def _to_provider(provider: Provider) -> HttpResponse:
    return HttpResponseRedirect(reverse("dashboard:provider-edit", args=[provider.pk]))


def _provider_page(
    request: PageRequest,
    provider: Provider,
    form: ProviderForm,
    *,
    status: int = 200,
    asks_anyway: bool = False,
) -> HttpResponse:
    row = provider_row(provider)
    context = ProviderPageContext(
        row=row,
        connection=connection_of(row),
        form=form,
        models=model_rows(provider=provider.name, limit=MODELS_SHOWN),
        history=history(installation_history_of("provider", provider.name, limit=SHOWN)),
        asks_anyway=asks_anyway,
        used_transport=used_transport(provider),
        proxy_url=proxy.url if (proxy := proxy_of(provider)) else "",
        warnings=connection_warnings(provider),
        credentials=credential_table(provider),
        has_credentials=has_credentials(provider),
        call_form=CallForm(None, provider),
    )
    return render(request, "dashboard/providers/provider.html", variables(context), status=status)
