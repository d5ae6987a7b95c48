"""The page Files of a workspace."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_GET, require_http_methods

from accounts.models import Workspace
from accounts.permissions import Action, may
from dashboard.files.forms import MAX_UPLOAD_BYTES, MB, StorageForm, UploadForm
from dashboard.files.table import file_table
from dashboard.forms.submit_once import TokenSpent, new_form_token, spend_form_token
from dashboard.http.current_workspace import require
from dashboard.http.htmx import PageRequest, render_page, variables
from dashboard.http.page_urls import page_address
from dashboard.http.query_params import UnknownPlace
from dashboard.ui.confirm import Question, ask
from dashboard.ui.tables import Table
from gateway.core.errors import GatewayError
from gateway.models import StoredFile, WorkspaceStorage
from gateway.models.file import PURPOSES
from gateway.selectors.files import find_cursor, find_file, find_storage, list_files
from gateway.services.files.deleting import delete_file
from gateway.services.files.limits import StorageLimits, limits_of, set_storage_limits
from gateway.services.files.receiving import store_form_file
from gateway.services.files.sending import content_response
from gateway.web.form_routes import takes_upload

PER_PAGE = 50
UPLOAD_BYTES = MAX_UPLOAD_BYTES + 64 * 1024


@dataclass(frozen=True, kw_only=True)
class FilesContext:
    """Variables of dashboard/files/list.html; htmx gets the table alone."""

    table: Table[StoredFile]
    purpose: str
    purposes: dict[str, str]
    files: int
    size_bytes: int
    limits: StorageLimits
    may_manage: bool
    may_limit: bool


@login_required
@require_GET
def list_workspace_files(request: PageRequest) -> HttpResponse:
    workspace = require(request, Action.VIEW_FILES)
    purpose = request.GET.get("purpose", "")
    purpose = purpose if purpose in PURPOSES else ""
    after = request.GET.get("after", "")
    cursor = find_cursor(workspace.pk, after) if after else None
    if after and cursor is None:
        raise UnknownPlace("after")
    page = list_files(workspace.pk, limit=PER_PAGE, purpose=purpose, after=cursor)
    storage = find_storage(workspace.pk)
    may_manage = may(request.user, Action.MANAGE_FILES, workspace)
    return render_page(
        request,
        page="dashboard/files/list.html",
        partial="components/_list.html",
        context=FilesContext(
            table=file_table(
                page.files,
                workspace,
                purpose=purpose,
                is_first=cursor is None,
                has_more=page.has_more,
                may_manage=may_manage,
            ),
            purpose=purpose,
            purposes={"": "All", **{name: name for name in PURPOSES}},
            files=0 if storage is None else storage.files,
            size_bytes=0 if storage is None else storage.size_bytes,
            limits=limits_of(storage),
            may_manage=may_manage,
            may_limit=may(request.user, Action.MANAGE_WORKSPACES),
        ),
    )


@takes_upload(UPLOAD_BYTES)
@login_required
@require_http_methods(["GET", "POST"])
def upload(request: PageRequest) -> HttpResponse:
    workspace = require(request, Action.MANAGE_FILES)
    if request.method == "GET":
        return _upload_page(request, UploadForm())
    form = UploadForm(request.POST, request.FILES)
    if not form.is_valid():
        return _upload_page(request, form, status=422)
    file = form.cleaned_data["file"]
    try:
        spend_form_token(request.POST.get("token", ""), done="The file is in the list.")
        stored = store_form_file(
            workspace,
            file.chunks(),
            filename=file.name or "",
            content_type=file.content_type or "",
            size_bytes=file.size or 0,
            purpose=form.cleaned_data["purpose"],
            expires_after_s=int(form.cleaned_data["expires_after_s"] or 0),
            actor=request.user.email,
        )
    except TokenSpent as spent:
        form.add_error(None, str(spent))
        return _upload_page(request, form, status=409)
    except GatewayError as error:
        form.add_error("file" if error.param == "file" else None, error.message)
        return _upload_page(request, form, status=422)
    messages.success(request, f"{stored.filename} was uploaded. Its ID is {stored.public_id}.")
    return HttpResponseRedirect(page_address(workspace, "file-list"))


@login_required
@require_GET
def download(request: PageRequest, file_id: str) -> HttpResponseBase:
    workspace = require(request, Action.MANAGE_FILES)
    try:
        return content_response(_find(workspace, file_id))
    except GatewayError as error:
        messages.error(request, error.message)
        return HttpResponseRedirect(page_address(workspace, "file-list"))


@login_required
@require_http_methods(["GET", "POST"])
def delete(request: PageRequest, file_id: str) -> HttpResponse:
    workspace = require(request, Action.MANAGE_FILES)
    file = _find(workspace, file_id)
    if request.method == "GET":
        return ask(
            request,
            Question(
                title=f"Delete {file.filename}?",
                lines=["Requests that refer to it will fail. This cannot be undone."],
                action=page_address(workspace, "file-delete", file.public_id),
                button="Delete file",
                back=page_address(workspace, "file-list"),
            ),
        )
    if delete_file(file, actor=request.user.email):
        messages.success(request, f"{file.filename} was deleted.")
    return HttpResponseRedirect(page_address(workspace, "file-list"))


@login_required
@require_http_methods(["GET", "POST"])
def choose_limits(request: PageRequest) -> HttpResponse:
    """What the workspace may store. Operators only: it is their disk."""
    workspace = require(request, Action.MANAGE_WORKSPACES)
    if request.method == "GET":
        form = StorageForm(initial=_initial(find_storage(workspace.pk)))
        return _limits_page(request, workspace, form)
    form = StorageForm(request.POST)
    if not form.is_valid():
        return _limits_page(request, workspace, form, status=422)
    try:
        set_storage_limits(workspace, actor=request.user.email, limits=form.limits())
    except ValidationError as error:
        form.add_error(None, error.messages[0])
        return _limits_page(request, workspace, form, status=422)
    messages.success(request, "Saved. Changes apply to the next upload.")
    return HttpResponseRedirect(page_address(workspace, "file-list"))


def _find(workspace: Workspace, file_id: str) -> StoredFile:
    file = find_file(workspace.pk, file_id)
    if file is None:
        raise Http404("This file does not exist.")
    return file


def _initial(storage: WorkspaceStorage | None) -> dict[str, Any]:
    if storage is None:
        return {}
    file_bytes, storage_bytes = storage.max_file_bytes, storage.max_storage_bytes
    return {
        "max_file_mb": None if file_bytes is None else file_bytes // MB,
        "max_files": storage.max_files,
        "max_storage_mb": None if storage_bytes is None else storage_bytes // MB,
    }


@dataclass(frozen=True)
class UploadContext:
    """Variables of dashboard/files/upload.html. token: of the form, see
    dashboard.forms.submit_once."""

    form: forms.Form
    token: str


def _upload_page(request: PageRequest, form: forms.Form, *, status: int = 200) -> HttpResponse:
    context = variables(UploadContext(form=form, token=new_form_token()))
    return render(request, "dashboard/files/upload.html", context, status=status)


@dataclass(frozen=True)
class LimitsContext:
    """Variables of dashboard/files/limits.html. usual: the installation's limits."""

    workspace: Workspace
    form: forms.Form
    usual: StorageLimits


def _limits_page(
    request: PageRequest, workspace: Workspace, form: forms.Form, *, status: int = 200
) -> HttpResponse:
    context = LimitsContext(workspace, form, limits_of(None))
    return render(request, "dashboard/files/limits.html", variables(context), status=status)
