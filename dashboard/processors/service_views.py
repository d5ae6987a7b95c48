"""Services that the processors of a workspace may ask: add, change, test, remove."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_http_methods, require_POST

from accounts.models import Workspace
from accounts.permissions import Action
from dashboard.forms.save import save
from dashboard.forms.version_token import lock_row, save_unchanged
from dashboard.http.current_workspace import require
from dashboard.http.htmx import PageRequest, variables, wants_partial
from dashboard.http.page_urls import page_address
from dashboard.processors.service_forms import ServiceForm, service_version
from dashboard.ui.confirm import Question, ask
from gateway.models import ProcessorService
from gateway.services.processor_services import add_service, remove_service, update_service
from gateway.services.processor_tests import ServiceTest, test_service


@dataclass(frozen=True, kw_only=True)
class ServiceContext:
    """Variables of dashboard/processors/service.html. service: None for a new one."""

    form: ServiceForm
    service: ProcessorService | None
    made: ServiceTest | None = None


@dataclass(frozen=True, kw_only=True)
class ServiceTestContext:
    """Variables of dashboard/processors/_service_test.html. made: None before it was tested."""

    service: ProcessorService
    made: ServiceTest | None


@sensitive_variables()
@login_required
@require_http_methods(["GET", "POST"])
def create(request: PageRequest) -> HttpResponse:
    workspace = require(request, Action.MANAGE_WORKSPACE)
    form = ServiceForm(request.POST if request.method == "POST" else None, None)
    added: list[ProcessorService] = []

    def write() -> bool:
        data = form.cleaned_data
        added.append(
            add_service(
                workspace,
                name=data["name"],
                kind=data["kind"],
                url=data["url"],
                credential=data["credential"],
                actor=request.user.email,
            )
        )
        return True

    words = "The service is added. Requests can use it within a second."
    if form.is_bound and form.is_valid() and save(request, form, write, words=words):
        return HttpResponseRedirect(page_address(workspace, "service-edit", added[0].pk))
    return _page(request, form, None)


@sensitive_variables()
@login_required
@require_http_methods(["GET", "POST"])
def edit(request: PageRequest, service_id: UUID) -> HttpResponse:
    workspace, service = _find(request, service_id)
    form = ServiceForm(request.POST if request.method == "POST" else None, service)

    def write() -> bool:
        return update_service(
            service,
            url=form.cleaned_data["url"],
            credential=form.changed_credential(),
            actor=request.user.email,
        )

    if not form.is_bound:
        return _page(request, form, service)
    status = save_unchanged(
        form,
        "service",
        lambda: service_version(lock_row(service)),
        lambda: save(request, form, write),
    )
    if status == HTTPStatus.FOUND:
        return HttpResponseRedirect(page_address(workspace, "service-edit", service.pk))
    return _page(request, form, service, status=status)


@login_required
@require_POST
def check_service(request: PageRequest, service_id: UUID) -> HttpResponse:
    """Ask the service, and say what came of it: in its card, or without JavaScript on top of its
    page."""
    workspace, service = _find(request, service_id)
    made = test_service(service)
    if wants_partial(request):
        context = ServiceTestContext(service=service, made=made)
        return render(request, "dashboard/processors/_service_test.html", variables(context))
    (messages.success if made.is_ok else messages.error)(request, made.message)
    return HttpResponseRedirect(page_address(workspace, "service-edit", service.pk))


@login_required
@require_http_methods(["GET", "POST"])
def remove(request: PageRequest, service_id: UUID) -> HttpResponse:
    workspace, service = _find(request, service_id)
    if request.method == "GET":
        question = Question(
            title=f"Remove {service.name}?",
            lines=[f"Requests with the service_id {service.name} are refused within a second."],
            action=page_address(workspace, "service-remove", service.pk),
            button="Remove service",
            back=page_address(workspace, "service-edit", service.pk),
        )
        return ask(request, question)
    try:
        remove_service(service, actor=request.user.email)
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
        return HttpResponseRedirect(page_address(workspace, "service-edit", service.pk))
    messages.success(request, f"{service.name} is removed.")
    return HttpResponseRedirect(page_address(workspace, "processors"))


def _find(request: PageRequest, service_id: UUID) -> tuple[Workspace, ProcessorService]:
    workspace = require(request, Action.MANAGE_WORKSPACE)
    return workspace, get_object_or_404(ProcessorService, pk=service_id, workspace=workspace)


def _page(
    request: PageRequest, form: ServiceForm, service: ProcessorService | None, *, status: int = 200
) -> HttpResponse:
    if form.errors and status == 200:
        status = 422
    context = ServiceContext(form=form, service=service)
    return render(request, "dashboard/processors/service.html", variables(context), status=status)
