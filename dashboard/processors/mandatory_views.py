"""Mandatory processors: of a workspace, or of a key. Add, change, remove."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_http_methods

from accounts.models import Workspace
from accounts.permissions import Action
from dashboard.forms.save import save
from dashboard.forms.version_token import lock_row, save_unchanged
from dashboard.http.current_workspace import require
from dashboard.http.htmx import PageRequest, variables
from dashboard.http.page_urls import page_address
from dashboard.processors.mandatory_forms import MandatoryForm, mandatory_version
from dashboard.ui.confirm import Question, ask
from gateway.models import MandatoryProcessor
from gateway.selectors.processors import services_in
from gateway.services.mandatory_processors import (
    RequirableProcessor,
    find_mandatory,
    release_processor,
    requirable_processors,
    require_processor,
)
from keys.models import ApiKey


@dataclass(frozen=True, kw_only=True)
class ProcessorChoice:
    """A processor that can be made mandatory. url: of its form."""

    name: str
    url: str
    is_chosen: bool


@dataclass(frozen=True, kw_only=True)
class MandatoryContext:
    """Variables of dashboard/processors/mandatory.html. row: None for a new one, with the choices
    of processors. key: None for all keys of the workspace."""

    form: MandatoryForm
    row: MandatoryProcessor | None
    key: ApiKey | None
    processor: RequirableProcessor
    choices: Sequence[ProcessorChoice]
    action_url: str
    back_url: str
    back_label: str


@login_required
@require_http_methods(["GET", "POST"])
def create(request: PageRequest) -> HttpResponse:
    """Make a processor mandatory: ?processor= says which, ?key= for which key alone."""
    workspace = require(request, Action.MANAGE_WORKSPACE)
    key = _key_of(request, workspace)
    known = {one.name: one for one in requirable_processors()}
    name = request.GET.get("processor", "anonymise")
    processor = known.get(name) or next(iter(known.values()))
    form = MandatoryForm(
        request.POST if request.method == "POST" else None,
        processor,
        services=services_in(workspace),
        row=None,
    )

    def write() -> bool:
        if find_mandatory(workspace, processor.name, key) is not None:
            raise ValidationError(f"{processor.name} is already mandatory. Edit it in the list.")
        return _require(request, workspace, processor, key, form)

    if form.is_bound and form.is_valid() and save(request, form, write):
        return HttpResponseRedirect(_back(workspace, key))
    return _page(request, workspace, form, processor=processor, row=None, key=key)


@login_required
@require_http_methods(["GET", "POST"])
def edit(request: PageRequest, mandatory_id: UUID) -> HttpResponse:
    workspace, row = _find(request, mandatory_id)
    known = {one.name: one for one in requirable_processors()}
    processor = known.get(row.processor)
    if processor is None:
        raise Http404("This processor is no longer available.")
    form = MandatoryForm(
        request.POST if request.method == "POST" else None,
        processor,
        services=services_in(workspace),
        row=row,
    )

    def write() -> bool:
        return _require(request, workspace, processor, row.key, form)

    status = HTTPStatus.OK
    if form.is_bound:
        status = save_unchanged(
            form,
            "processor",
            lambda: mandatory_version(lock_row(row)),
            lambda: save(request, form, write),
        )
        if status == HTTPStatus.FOUND:
            return HttpResponseRedirect(_back(workspace, row.key))
    return _page(request, workspace, form, processor=processor, row=row, key=row.key, status=status)


@login_required
@require_http_methods(["GET", "POST"])
def remove(request: PageRequest, mandatory_id: UUID) -> HttpResponse:
    workspace, row = _find(request, mandatory_id)
    back = _back(workspace, row.key)
    if request.method == "GET":
        whose = f"of the key {row.key.label}" if row.key else "of the workspace"
        question = Question(
            title=f"Make {row.processor} optional?",
            lines=[f"Within a second, calls {whose} use it only if the request asks for it."],
            action=page_address(workspace, "mandatory-remove", row.pk),
            button="Make optional",
            back=back,
        )
        return ask(request, question)
    release_processor(row, actor=request.user.email)
    messages.success(request, f"{row.processor} is no longer mandatory.")
    return HttpResponseRedirect(back)


def mandatory_create_url(workspace: Workspace, key: ApiKey | None, processor: str = "") -> str:
    asked = {"processor": processor, "key": "" if key is None else str(key.pk)}
    query = urlencode({name: value for name, value in asked.items() if value})
    url = page_address(workspace, "mandatory-create")
    return f"{url}?{query}" if query else url


def _find(request: PageRequest, mandatory_id: UUID) -> tuple[Workspace, MandatoryProcessor]:
    workspace = require(request, Action.MANAGE_WORKSPACE)
    rows = MandatoryProcessor.objects.select_related("key")
    return workspace, get_object_or_404(rows, pk=mandatory_id, workspace=workspace)


def _key_of(request: PageRequest, workspace: Workspace) -> ApiKey | None:
    """Return the key that the address names. Raises Http404 for one of another workspace."""
    text = request.GET.get("key", "")
    if not text:
        return None
    try:
        return get_object_or_404(ApiKey, pk=UUID(text), workspace=workspace)
    except ValueError:
        raise Http404("This key does not exist.") from None


def _require(
    request: PageRequest,
    workspace: Workspace,
    processor: RequirableProcessor,
    key: ApiKey | None,
    form: MandatoryForm,
) -> bool:
    return require_processor(
        workspace,
        processor.name,
        key=key,
        options=form.options(),
        language=form.chosen_language(),
        actor=request.user.email,
    )


def _back(workspace: Workspace, key: ApiKey | None) -> str:
    if key is None:
        return page_address(workspace, "processors")
    return page_address(workspace, "key-edit", key.pk)


def _page(
    request: PageRequest,
    workspace: Workspace,
    form: MandatoryForm,
    *,
    processor: RequirableProcessor,
    row: MandatoryProcessor | None,
    key: ApiKey | None,
    status: int = 200,
) -> HttpResponse:
    choices = [
        ProcessorChoice(
            name=one.name,
            url=mandatory_create_url(workspace, key, one.name),
            is_chosen=one.name == processor.name,
        )
        for one in requirable_processors()
    ]
    context = MandatoryContext(
        form=form,
        row=row,
        key=key,
        processor=processor,
        choices=choices if row is None else (),
        action_url=mandatory_create_url(workspace, key, processor.name)
        if row is None
        else page_address(workspace, "mandatory-edit", row.pk),
        back_url=_back(workspace, key),
        back_label=key.label if key else "Processors",
    )
    if form.errors and status == 200:
        status = 422
    return render(request, "dashboard/processors/mandatory.html", variables(context), status=status)
