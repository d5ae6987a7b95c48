"""Keys issued elsewhere, from a CSV file: shown first, imported when that is confirmed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_http_methods

from accounts.permissions import Action, may
from dashboard.http.current_workspace import current_workspace, require
from dashboard.http.htmx import PageRequest, variables
from dashboard.http.page_urls import page_address
from dashboard.key_import.forms import KeyImportForm
from dashboard.key_import.table import NewKeyRow, new_key_table
from dashboard.ui.tables import Table
from gateway.web.form_routes import takes_upload
from keys.import_rows import MAX_BYTES, MAX_ROWS, ImportRow, Problem, read_rows
from keys.importing import (
    ImportRefused,
    Plan,
    confirm_preview,
    find_preview,
    keep_preview,
    plan_import,
    rows_shown,
)
from keys.models import KeyImport

# The file, and what a form has around it.
UPLOAD_BYTES = MAX_BYTES + 64 * 1024
PROBLEMS_SHOWN = 50


@dataclass(frozen=True)
class ImportContext:
    """Variables of dashboard/key_import/import.html. more_problems: how many are not shown."""

    form: KeyImportForm
    problems: Sequence[Problem]
    more_problems: int
    max_rows: int
    may_import_digests: bool


@dataclass(frozen=True)
class PreviewContext:
    """Variables of dashboard/key_import/preview.html."""

    import_id: UUID
    fresh: list[ImportRow]
    here: list[ImportRow]
    table: Table[NewKeyRow]
    by_digest: int


@takes_upload(UPLOAD_BYTES)
@sensitive_variables()
@login_required
@require_http_methods(["GET", "POST"])
def import_keys(request: PageRequest) -> HttpResponse:
    workspace = require(request, Action.MANAGE_KEYS)
    if request.method == "GET":
        return _form_page(request, KeyImportForm())
    form = KeyImportForm(request.POST, request.FILES)
    if not form.is_valid():
        return _form_page(request, form, status=422)
    rows, problems = read_rows(form.content())
    problems = problems or plan_import(workspace, rows, person=request.user).problems
    if problems:
        return _form_page(request, form, problems, status=422)
    preview = keep_preview(workspace, rows, person=request.user)
    return HttpResponseRedirect(page_address(workspace, "key-import-confirm", preview.pk))


@login_required
@require_http_methods(["GET", "POST"])
def confirm_import(request: PageRequest, import_id: UUID) -> HttpResponse:
    """Show what an import would do, or do it."""
    workspace = require(request, Action.MANAGE_KEYS)
    preview = find_preview(workspace, import_id, person=request.user)
    if preview is None:
        raise Http404
    if preview.confirmed_at is not None:
        return _done_already(request)
    if request.method == "POST":
        return _import(request, preview)
    plan = plan_import(workspace, rows_shown(preview), person=request.user)
    if plan.problems:
        return _form_page(request, KeyImportForm(), plan.problems, status=409)
    context = _preview_context(import_id, plan)
    return render(request, "dashboard/key_import/preview.html", variables(context))


def _import(request: PageRequest, preview: KeyImport) -> HttpResponse:
    try:
        keys = confirm_preview(preview, person=request.user)
    except ImportRefused as refused:
        return _form_page(request, KeyImportForm(), refused.problems, status=409)
    if keys is None:
        return _done_already(request)
    noun = "key is" if len(keys) == 1 else "keys are"
    messages.success(request, f"{len(keys):,} {noun} imported. Calls with them are accepted.")
    return HttpResponseRedirect(page_address(current_workspace(request), "key-list"))


def _done_already(request: PageRequest) -> HttpResponse:
    messages.info(request, "These keys were already imported.")
    return HttpResponseRedirect(page_address(current_workspace(request), "key-list"))


def _preview_context(import_id: UUID, plan: Plan) -> PreviewContext:
    return PreviewContext(
        import_id=import_id,
        fresh=plan.fresh,
        here=plan.here,
        table=new_key_table(plan.fresh),
        by_digest=sum(row.by_digest for row in plan.fresh),
    )


def _form_page(
    request: PageRequest,
    form: KeyImportForm,
    problems: Sequence[Problem] = (),
    *,
    status: int = 200,
) -> HttpResponse:
    context = ImportContext(
        form=form,
        problems=problems[:PROBLEMS_SHOWN],
        more_problems=max(0, len(problems) - PROBLEMS_SHOWN),
        max_rows=MAX_ROWS,
        may_import_digests=may(request.user, Action.IMPORT_DIGESTS),
    )
    return render(request, "dashboard/key_import/import.html", variables(context), status=status)
