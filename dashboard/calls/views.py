"""The list of calls, one call whole, and the list as a file."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_GET

from accounts.models import Workspace
from dashboard.calls.detail import CallDetail, describe_call
from dashboard.calls.export import csv_lines
from dashboard.calls.filters import CallQuery, read_call_query
from dashboard.calls.processors import ProcessorLine, processor_table
from dashboard.calls.rows import CallRow, call_rows
from dashboard.calls.table import Attempt, attempt_table, call_pager, call_table, no_calls
from dashboard.calls.tool_runs import ToolRunLine, tool_run_table
from dashboard.explain.links import explain_again_url
from dashboard.http.current_workspace import current_workspace
from dashboard.http.htmx import PageRequest, go_to, render_page, variables
from dashboard.http.page_urls import page_address
from dashboard.ui.tables import Pager, Table
from gateway.models import LanguageModel
from gateway.selectors.calls import CallPage, call_page, find_body, find_call
from gateway.selectors.visible import Visible, visible_to
from keys.models import ApiKey

CHOICES_SHOWN = 200


@dataclass(frozen=True, kw_only=True)
class CallListContext:
    """Variables of dashboard/calls/list.html and _results.html. id_text: an id not found."""

    table: Table[CallRow]
    pager: Pager | None
    page: CallPage
    query: CallQuery
    models: Sequence[str]
    keys: Sequence[ApiKey]
    older_query: str
    id_text: str = ""


@dataclass(frozen=True)
class CallDetailContext:
    """Variables of dashboard/calls/detail.html. explain_url: empty for who may not ask."""

    detail: CallDetail
    attempts: Table[Attempt]
    processors: Table[ProcessorLine]
    tool_runs: Table[ToolRunLine]
    explain_url: str


@login_required
@require_GET
def list_calls(request: PageRequest) -> HttpResponse:
    workspace = current_workspace(request)
    visible = visible_to(request.user, workspace)
    query = read_call_query(request.GET, now=timezone.now())
    id_text = request.GET.get("id", "").strip()[:80]
    if id_text and (found := _find_by_text(visible, id_text)):
        return go_to(request, page_address(workspace, "call-detail", found))
    page = CallPage([], None, None)
    if not query.error:
        page = call_page(visible, query.filters, before=query.before, after=query.after)
    newer = query.page_query(after=page.newer) if page.newer else ""
    older = query.page_query(before=page.older) if page.older else ""
    empty = no_calls(
        query,
        here=page_address(workspace, "call-list"),
        keys_url=page_address(workspace, "key-list"),
        is_later_page=bool(newer),
    )
    response = render_page(
        request,
        page="dashboard/calls/list.html",
        partial="dashboard/calls/_results.html",
        context=CallListContext(
            table=call_table(call_rows(visible, page.calls), None if page.searched_to else empty),
            pager=call_pager(
                query, here=request.path, shown=len(page.calls), newer=newer, older=older
            ),
            page=page,
            query=query,
            models=_model_choices(query),
            keys=_key_choices(workspace, visible),
            older_query=older,
            id_text=id_text,
        ),
        status=422 if query.error else 200,
    )
    # The address people see and share leaves out the filters that do not narrow.
    response["HX-Push-Url"] = f"{request.path}?{query.page_query(query.before, query.after)}"
    return response


@login_required
@require_GET
def show_call(request: PageRequest, call_id: uuid.UUID) -> HttpResponse:
    workspace = current_workspace(request)
    visible = visible_to(request.user, workspace)
    call = find_call(visible, str(call_id))
    if call is None:
        raise Http404("There is no such call in this workspace.")
    detail = describe_call(visible, call, find_body(call), workspace=workspace)
    explain_url = explain_again_url(request.user, workspace, call)
    context = CallDetailContext(
        detail,
        attempt_table(detail.attempts),
        processor_table(call.processors),
        tool_run_table(call.tool_runs),
        explain_url,
    )
    return render(request, "dashboard/calls/detail.html", variables(context))


@login_required
@require_GET
def export_calls(request: PageRequest) -> HttpResponse | StreamingHttpResponse:
    """Stream the calls that the list's filters mean, whole, as CSV."""
    workspace = current_workspace(request)
    query = read_call_query(request.GET, now=timezone.now())
    if query.error:
        return HttpResponse(query.error, content_type="text/plain; charset=utf-8", status=422)
    lines = csv_lines(visible_to(request.user, workspace), query.filters)
    name = f"calls-{workspace.slug}-{timezone.now():%Y%m%d-%H%M%S}.csv"
    return StreamingHttpResponse(
        lines,
        content_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )


def _find_by_text(visible: Visible, text: str) -> uuid.UUID | None:
    call = find_call(visible, text)
    return call.id if call else None


def _model_choices(query: CallQuery) -> list[str]:
    names = set(LanguageModel.objects.values_list("name", flat=True)[:CHOICES_SHOWN])
    return sorted(names | ({query.filters.model} - {""}))


def _key_choices(workspace: Workspace, visible: Visible) -> list[ApiKey]:
    keys = ApiKey.objects.filter(workspace=workspace)
    if visible.key_ids is not None:
        keys = keys.filter(id__in=visible.key_ids)
    return list(keys.order_by("label", "id")[:CHOICES_SHOWN])
