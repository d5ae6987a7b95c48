"""The server tools of the installation, for its operators: prices, services, and their test."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from accounts.permissions import Action
from dashboard.forms.save import save
from dashboard.forms.service_errors import show_service_error
from dashboard.forms.version_token import save_unchanged
from dashboard.http.current_workspace import require_operator
from dashboard.http.htmx import PageRequest, variables, wants_partial
from dashboard.tools.forms import ToolForm, ToolTestForm, tool_version
from dashboard.tools.table import ListedTool, list_tool, tool_table
from dashboard.ui.tables import Table
from gateway.database.lock import TOOLS, lock_for_transaction
from gateway.models import LanguageModel
from gateway.services.tool_settings import ToolLine, set_tool, tool_lines
from gateway.services.tool_tests import ToolTest, run_test


@dataclass(frozen=True)
class ToolListContext:
    """Variables of dashboard/tools/list.html."""

    table: Table[ListedTool]


@dataclass(frozen=True, kw_only=True)
class ToolPageContext:
    """Variables of dashboard/tools/tool.html. test_form, made: as in ToolTestContext."""

    row: ListedTool
    form: ToolForm
    test_form: ToolTestForm
    made: ToolTest | None = None


@dataclass(frozen=True, kw_only=True)
class ToolTestContext:
    """Variables of dashboard/tools/_test.html. made: what came of the test; None before it."""

    row: ListedTool
    test_form: ToolTestForm
    made: ToolTest | None = None


@login_required
@require_GET
def list_tools(request: PageRequest) -> HttpResponse:
    require_operator(request, Action.MANAGE_CATALOGUE)
    context = ToolListContext(tool_table(tool_lines()))
    return render(request, "dashboard/tools/list.html", variables(context))


@sensitive_variables()
@login_required
@require_http_methods(["GET", "POST"])
def edit_tool(request: PageRequest, name: str) -> HttpResponse:
    require_operator(request, Action.MANAGE_CATALOGUE)
    line = _line_of(name)
    form = ToolForm(request.POST or None, line, _image_models())
    status = HTTPStatus.OK
    if request.method == "POST":
        status = save_unchanged(
            form, "tool", lambda: _locked_version(name), lambda: _save(request, name, form)
        )
        if status == HTTPStatus.FOUND:
            return HttpResponseRedirect(reverse("dashboard:tool-edit", args=[name]))
    context = ToolPageContext(
        row=list_tool(line), form=form, test_form=ToolTestForm(None, line.tool)
    )
    return render(request, "dashboard/tools/tool.html", variables(context), status=status)


@login_required
@require_POST
def check_tool(request: PageRequest, name: str) -> HttpResponse:
    """Run the tool once, and say what came of it: in its card, or without JavaScript on top of its
    page."""
    require_operator(request, Action.MANAGE_CATALOGUE)
    line = _line_of(name)
    form = ToolTestForm(request.POST, line.tool)
    made = _run(request, name, form) if form.is_valid() else None
    if wants_partial(request):
        context = ToolTestContext(row=list_tool(line), test_form=form, made=made)
        return render(request, "dashboard/tools/_test.html", variables(context))
    if made is None:
        said = (str(error) for errors in form.errors.values() for error in errors)
        messages.error(request, " ".join(said))
    else:
        (messages.success if made.is_ok else messages.error)(request, made.message)
    return HttpResponseRedirect(reverse("dashboard:tool-edit", args=[name]))


def _line_of(name: str) -> ToolLine:
    for line in tool_lines():
        if line.tool.name == name:
            return line
    raise Http404("This tool does not exist.")


def _locked_version(name: str) -> str:
    """Do as save_unchanged asks. Until a tool is first saved there is no row of it to lock."""
    lock_for_transaction(TOOLS)
    return tool_version(_line_of(name).setting)


def _image_models() -> list[str]:
    return list(
        LanguageModel.objects.filter(operation__in=("", "images"))
        .order_by("name")
        .values_list("name", flat=True)
    )


def _save(request: PageRequest, name: str, form: ToolForm) -> bool:
    return save(
        request,
        form,
        lambda: set_tool(
            name,
            actor=request.user.email,
            credential=form.changed_credential(),
            **form.values(),
        ),
    )


def _run(request: PageRequest, name: str, form: ToolTestForm) -> ToolTest | None:
    """Return what came of the test, or None with the reasons in the form."""
    try:
        return run_test(name, form.cleaned_data["text"], actor=request.user.email)
    except ValidationError as error:
        show_service_error(form, error)
        return None
