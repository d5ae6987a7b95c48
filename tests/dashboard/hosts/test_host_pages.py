"""The page of hosts: which processes are dead with a journal that is not posted, for operators."""

from __future__ import annotations

import uuid
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from accounts import ledger
from accounts.models import AuditEvent, Wallet
from gateway.models import JournalLoss
from gateway.services.proving import prove
from tests.dashboard.visitors import HTMX, signed_in
from tests.factories import make_dead_process, make_member, make_user, make_workspace

pytestmark = pytest.mark.django_db

LIST = "/hosts"


@pytest.fixture
def operator() -> Client:
    return signed_in(make_user("op@example.com", is_operator=True))


def question_of(process_id: uuid.UUID) -> str:
    return f"{LIST}/{process_id}/lost"


def test_a_dead_process_is_shown_with_what_it_keeps_and_what_to_do(operator: Client) -> None:
    workspace = make_workspace(credit_nusd=10**9)
    dead = make_dead_process()
    make_dead_process(host="web-1", pid=12, lease_until=timezone.now() + timedelta(hours=1))
    ledger.draw(workspace.pk, dead.pk, want_nusd=25_000_000, least_nusd=1)

    page = operator.get(LIST)
    text = page.content.decode()

    assert [row.is_silent for row in page.context["table"].items] == [True, False]
    assert "1 process has no heartbeat and a journal that is not posted" in text
    assert "adopt_journal" in text
    assert "$0.025" in text
    assert text.count(question_of(dead.pk)) == 2  # href and hx-get
    assert text.count("Declare lost") == 1


def test_without_a_dead_process_there_is_no_warning(operator: Client) -> None:
    assert b"No server processes" in operator.get(LIST).content


def test_the_worst_case_is_stated_before_it_is_booked(operator: Client) -> None:
    workspace = make_workspace(credit_nusd=10**9)
    dead = make_dead_process()
    before = Wallet.objects.get(pk=workspace.pk).drawn_nusd
    ledger.draw(workspace.pk, dead.pk, want_nusd=25_000_000, least_nusd=1)

    asked = operator.get(question_of(dead.pk), headers=HTMX).content.decode()
    unchanged = Wallet.objects.get(pk=workspace.pk).drawn_nusd
    answer = operator.post(question_of(dead.pk), follow=True)

    assert "0 open calls, which hold $0.00" in asked
    assert "at most what the process had reserved: $0.025" in asked
    assert unchanged == before + 25_000_000
    assert Wallet.objects.get(pk=workspace.pk).drawn_nusd == before
    loss = JournalLoss.objects.get()
    assert (loss.reserved_nusd, loss.declared_by) == (25_000_000, "op@example.com")
    assert AuditEvent.objects.get(action="journal.declare_lost").actor == "op@example.com"
    shown = answer.content.decode()
    assert "Journals declared lost" in shown
    assert f"/srv/two, {dead.pk}" in shown
    assert "they cost at most $0.025" in shown
    assert "Journal declared lost" in operator.get("/installation/audit").content.decode()
    assert prove().breaks == []


def test_a_process_that_may_be_alive_is_not_declared_lost(operator: Client) -> None:
    process = make_dead_process(lease_until=timezone.now())

    for answer in (
        operator.get(question_of(process.pk), follow=True),
        operator.post(question_of(process.pk), follow=True),
    ):
        assert "may be alive" in answer.content.decode()
    in_dialog = operator.get(question_of(process.pk), headers=HTMX)
    assert (in_dialog.status_code, in_dialog["HX-Redirect"]) == (204, LIST)
    assert not JournalLoss.objects.exists()


def test_it_is_for_operators_and_for_processes_that_exist(operator: Client) -> None:
    member = signed_in(make_member(make_workspace()))

    assert member.get(LIST).status_code == 403
    assert member.post(question_of(make_dead_process().pk)).status_code == 403
    assert operator.post(question_of(uuid.uuid4())).status_code == 404
