"""The server processes of all hosts, for operators, and what becomes of journals out of reach."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods

from accounts.permissions import Action
from dashboard.hosts.table import loss_table, process_table
from dashboard.http.current_workspace import require_operator
from dashboard.http.htmx import PageRequest, go_to, render_page
from dashboard.templatetags.money import usd
from dashboard.ui.confirm import Question, ask
from dashboard.ui.tables import Table
from gateway.models import JournalLoss, ServingProcess
from gateway.selectors.processes import ProcessRow, journal_losses, process_rows
from gateway.services.declaring_lost import declare_lost, find_worst_case
from gateway.services.files.homes import homes_elsewhere


@dataclass(frozen=True)
class HostListContext:
    """Variables of dashboard/hosts/list.html; htmx gets the table alone. silent: how many processes
    are without a heartbeat. elsewhere: homes that keep their files in another folder than this one.
    """

    table: Table[ProcessRow]
    losses: Table[JournalLoss]
    silent: int
    elsewhere: list[str]
    files_folder: str


@login_required
@require_GET
def list_hosts(request: PageRequest) -> HttpResponse:
    require_operator(request, Action.MANAGE_HOSTS)
    rows = process_rows()
    return render_page(
        request,
        page="dashboard/hosts/list.html",
        partial="components/_list.html",
        context=HostListContext(
            table=process_table(rows),
            losses=loss_table(journal_losses()),
            silent=sum(row.is_silent for row in rows),
            elsewhere=homes_elsewhere(),
            files_folder=str(settings.FILES_DIR),
        ),
    )


@login_required
@require_http_methods(["GET", "POST"])
def declare_host_lost(request: PageRequest, process_id: UUID) -> HttpResponse:
    """State the worst case and ask, or declare the journal of a dead process lost."""
    require_operator(request, Action.MANAGE_HOSTS)
    get_object_or_404(ServingProcess, pk=process_id)
    try:
        if request.method == "GET":
            return ask(request, _question(find_worst_case(process_id)))
        loss = declare_lost(process_id, actor=request.user.email)
    except ValueError as error:
        messages.error(request, str(error))
    else:
        messages.success(
            request,
            f"The journal is declared lost. {_count(loss.open_calls)} ended without a charge. With "
            f"those that only the journal has, they cost at most {usd(loss.reserved_nusd)}.",
        )
    return go_to(request, reverse("dashboard:host-list"))


def _question(row: ProcessRow) -> Question:
    process = row.process
    return Question(
        title="Declare this journal lost?",
        lines=[
            f"Process {process.pid} on {process.host} ({process.home}) has had no heartbeat since "
            f"{process.heartbeat_at:%Y-%m-%d %H:%M} UTC. If its host or disk can come back, wait "
            f"for it, or copy its journal/{process.pk} and run manage.py adopt_journal: then "
            "nothing is lost.",
            f"Worst case: {_count(row.open_calls)}, which hold {usd(row.held_nusd)}, and calls "
            "that only the journal has. Together they cost at most what the process had reserved: "
            f"{usd(row.reserved_nusd)}.",
            f"Open calls end without a charge. The reserved money goes back to the wallets, and "
            f"{usd(row.budgets_nusd)} to budgets of keys, members and workspaces. "
            "What the calls have cost is your loss. This cannot be undone: if the journal comes "
            "back later, it is not posted.",
        ],
        action=reverse("dashboard:host-declare-lost", args=[process.pk]),
        button="Declare lost",
        back=reverse("dashboard:host-list"),
    )


def _count(calls: int) -> str:
    return f"{calls:,} open call{'' if calls == 1 else 's'}"
