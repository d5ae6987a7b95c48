"""The models of the installation, for its operators."""

from __future__ import annotations

from collections.abc import Mapping
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
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from accounts.all_errors import raising_all
from accounts.audit_selectors import installation_history_of
from accounts.permissions import Action
from dashboard.audit.history import SHOWN, Line, history
from dashboard.forms.save import save
from dashboard.forms.version_token import lock_row, save_unchanged
from dashboard.http.current_workspace import NoWorkspace, current_workspace, require_operator
from dashboard.http.htmx import PageRequest, render_page, variables
from dashboard.http.query_params import read_text
from dashboard.models.forms import ModelForm, NewModelForm, initial_of_model, model_version
from dashboard.models.provider_models import listed_initial
from dashboard.models.table import MODELS_SHOWN, model_table
from dashboard.ui.confirm import Question, ask
from dashboard.ui.tables import Table
from gateway.models import LanguageModel, Provider
from gateway.selectors.catalogue import ModelRow, model_row, model_rows, provider_names
from gateway.services.models import (
    NATIVE_CHARS,
    add_model,
    check_operation_change,
    read_prices,
    set_model_enabled,
    set_prices,
    update_model,
)
from gateway.services.prompt_templates import Preview, preview_prompt
from gateway.services.provider_tests import check_connection, warn_of_unknown_model

STATES = {"all": "All", "offered": "Available", "other": "Unavailable"}
_OFFERED = {"offered": True, "other": False}


@dataclass(frozen=True)
class ModelFilters:
    """Read from the URL; anything unreadable is as if it were not there."""

    query: str = ""
    state: str = "all"
    provider: str = ""

    @property
    def is_plain(self) -> bool:
        return self == ModelFilters()


@dataclass(frozen=True)
class ModelListContext:
    """Variables of dashboard/models/list.html; htmx gets the table alone."""

    table: Table[ModelRow]
    filters: ModelFilters
    states: dict[str, str]
    providers: list[str]


@dataclass(frozen=True)
class NewModelContext:
    """Variables of dashboard/models/new.html."""

    form: NewModelForm
    has_providers: bool


@dataclass(frozen=True)
class PreviewContext:
    """Variables of dashboard/models/_preview.html."""

    preview: Preview


@dataclass(frozen=True)
class ModelPageContext:
    """Variables of dashboard/models/model.html."""

    row: ModelRow
    form: ModelForm
    history: list[Line]


@login_required
@require_GET
def list_models(request: PageRequest) -> HttpResponse:
    require_operator(request, Action.MANAGE_CATALOGUE)
    filters = _read_filters(request.GET)
    rows = model_rows(
        text=filters.query,
        provider=filters.provider,
        offered=_OFFERED.get(filters.state),
        limit=MODELS_SHOWN + 1,
    )
    return render_page(
        request,
        page="dashboard/models/list.html",
        partial="components/_list.html",
        context=ModelListContext(
            table=model_table(rows, is_plain=filters.is_plain),
            filters=filters,
            states=STATES,
            providers=provider_names(),
        ),
    )


@login_required
@require_http_methods(["GET", "POST"])
def create_model(request: PageRequest) -> HttpResponse:
    require_operator(request, Action.MANAGE_CATALOGUE)
    names = provider_names()
    chosen = listed_initial(
        request.GET.get("provider", "")[:60], request.GET.get("native", "")[:NATIVE_CHARS]
    )
    form = NewModelForm(request.POST or None, initial=chosen, providers=names)
    model = _add(request, form) if request.method == "POST" and form.is_valid() else None
    if model is None:
        context = NewModelContext(form=form, has_providers=bool(names))
        status = 200 if request.method == "GET" else 422
        return render(request, "dashboard/models/new.html", variables(context), status=status)
    messages.success(request, f"{model} is available within a second.")
    target = model.targets.select_related("provider").get()
    finding = check_connection(target.provider)
    if warning := warn_of_unknown_model(finding, target.native_model):
        messages.warning(request, f"{warning} Calls may fail. Check the provider model ID.")
    elif not finding.is_reachable:
        messages.warning(request, f"{target.provider} fails its test. {finding.message}")
    return _to_model(model)


@login_required
@require_http_methods(["GET", "POST"])
def edit_model(request: PageRequest, model_id: UUID) -> HttpResponse:
    require_operator(request, Action.MANAGE_CATALOGUE)
    model = get_object_or_404(LanguageModel, pk=model_id)
    form = ModelForm(request.POST or None, initial=initial_of_model(model))
    if request.method == "GET":
        return _model_page(request, model, form)
    status = save_unchanged(
        form,
        "model",
        lambda: model_version(lock_row(model)),
        lambda: _update(request, model, form),
    )
    if status == HTTPStatus.FOUND:
        return _to_model(model)
    model.refresh_from_db()
    return _model_page(request, model, form, status=status)


@login_required
@require_POST
def preview(request: PageRequest) -> HttpResponse:
    """Show what the prompt in the form would say now. Nothing is saved."""
    require_operator(request, Action.MANAGE_CATALOGUE)
    shown = preview_prompt(
        request.POST.get("template_render_mode", ""),
        request.POST.get("default_system_prompt", "").replace("\r\n", "\n"),
        model_id=request.GET.get("model") or request.POST.get("name", ""),
        org_name=_name_of_workspace(request),
    )
    context = PreviewContext(preview=shown)
    return render(request, "dashboard/models/_preview.html", variables(context))


@login_required
@require_http_methods(["GET", "POST"])
def switch_model(request: PageRequest, model_id: UUID) -> HttpResponse:
    """Ask whether to switch the model off, or switch it."""
    require_operator(request, Action.MANAGE_CATALOGUE)
    model = get_object_or_404(LanguageModel, pk=model_id)
    if request.method == "GET":
        return ask(request, _switch_off_question(model)) if model.enabled else _to_model(model)
    is_on = request.POST.get("enabled") == "on"
    if set_model_enabled(model, enabled=is_on, actor=request.user.email):
        words = "enabled" if is_on else "disabled. New calls get 404"
        messages.success(request, f"{model} is {words}.")
    return _to_model(model)


def _switch_off_question(model: LanguageModel) -> Question:
    return Question(
        title=f"Disable {model.name}?",
        lines=[
            "New calls to it get 404 within a second. Running calls continue. Calls that"
            " name fallback models use those.",
            "Keys, prices and call records are kept. You can enable it again.",
        ],
        action=reverse("dashboard:model-switch", args=[model.pk]),
        button="Disable model",
        back=reverse("dashboard:model-edit", args=[model.pk]),
    )


def _add(request: PageRequest, form: NewModelForm) -> LanguageModel | None:
    """Return the new model, or None with the reasons in the form."""
    data = form.cleaned_data
    try:
        return add_model(
            name=data["name"],
            provider=Provider.objects.get(name=data["provider"]),
            native_model=data["native_model"],
            actor=request.user.email,
            may_be_free=data["confirm_price"],
            **form.prices(),
            **form.described(),
        )
    except ValidationError as error:
        form.take(error)
        return None


def _update(request: PageRequest, model: LanguageModel, form: ModelForm) -> bool:
    who, is_confirmed = request.user.email, form.cleaned_data["confirm_price"]
    confirmed = {"may_be_free": is_confirmed, "may_jump": is_confirmed}
    operation = model.operation

    def write() -> bool:
        with transaction.atomic():
            with raising_all() as gather:
                with gather():
                    is_described = update_model(model, actor=who, **form.described())
                with gather():
                    read_prices(**form.prices())
            is_priced = set_prices(model, actor=who, **form.prices(), **confirmed)
            check_operation_change(model, operation, may_be_free=is_confirmed)
            return is_priced or is_described

    return save(request, form, write)


def _name_of_workspace(request: PageRequest) -> str:
    """Return the name of the workspace in view, empty for an operator who has none."""
    try:
        return current_workspace(request).name
    except NoWorkspace:
        return ""


def _read_filters(query: Mapping[str, str]) -> ModelFilters:
    state = query.get("state", "all")
    return ModelFilters(
        query=read_text(query),
        state=state if state in STATES else "all",
        provider=query.get("provider", "").replace("\0", "")[:60],
    )


def _to_model(model: LanguageModel) -> HttpResponse:
    return HttpResponseRedirect(reverse("dashboard:model-edit", args=[model.pk]))


def _model_page(
    request: PageRequest, model: LanguageModel, form: ModelForm, *, status: int = 200
) -> HttpResponse:
    context = ModelPageContext(
        row=model_row(model),
        form=form,
        history=history(installation_history_of("model", model.name, limit=SHOWN)),
    )
    return render(request, "dashboard/models/model.html", variables(context), status=status)
