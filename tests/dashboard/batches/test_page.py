"""The page of batches: whose are shown, how far they are, cancelling one and its results."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.utils import timezone

from accounts.models import AuditEvent, Role
from gateway.models import Batch
from gateway.services.pruning import prune
from keys.models import ApiKey
from tests.dashboard.calls.test_processors import make_call
from tests.dashboard.visitors import HTMX, path_of, signed_in
from tests.factories import make_batch, make_key, make_member, make_workspace

pytestmark = pytest.mark.django_db


def test_progress_is_shown_and_read_again_while_a_batch_runs() -> None:
    workspace = make_workspace()
    owner = signed_in(make_member(workspace, Role.OWNER))
    running = make_batch(workspace, status="in_progress", total=1_200, completed=700, failed=3)

    page = owner.get(path_of("batch-list")).content.decode()
    part = owner.get(path_of("batch-list"), headers=HTMX).content.decode()
    Batch.objects.update(status="completed", ended_at=timezone.now())
    over = owner.get(path_of("batch-list")).content.decode()

    for shown in (page, part):
        assert running.public_id in shown
        assert "703 of 1,200" in shown
        assert 'hx-trigger="every 3s"' in shown
    assert "<html" not in part
    assert "every 3s" not in over
    assert path_of("batch-cancel", running.pk) in page
    assert path_of("batch-cancel", running.pk) not in over


def test_a_batch_leads_to_its_calls_and_they_to_it() -> None:
    workspace = make_workspace()
    owner = signed_in(make_member(workspace, Role.OWNER))
    key = make_key(workspace).key
    ended = {"status": "completed", "ended_at": timezone.now(), "total": 1, "completed": 1}
    batch, other = make_batch(workspace, key=key, **ended), make_batch(workspace, key=key)
    calls = [
        make_call(workspace, key_id=key.pk, client_request_id=f"{each.public_id}:0")
        for each in (batch, other)
    ]

    page = owner.get(path_of("batch-list")).content.decode()
    address = re.findall(r'href="([^"]*/calls[?][^"]*)"', page)[1].replace("&amp;", "&")
    listed = owner.get(address).content.decode()
    detail = owner.get(path_of("call-detail", calls[0].pk)).content.decode()
    one = owner.get(f"{path_of('batch-list')}?batch={batch.public_id}").content.decode()

    assert str(calls[0].pk) in listed
    assert str(calls[1].pk) not in listed
    assert f"?batch={batch.public_id}" in detail
    assert batch.public_id in one
    assert other.public_id not in one


def test_batches_and_their_results_are_deleted_after_their_days() -> None:
    workspace, now = make_workspace(), timezone.now()
    old = make_batch(workspace, status="completed", ended_at=now - timedelta(days=31))
    fresh = make_batch(workspace, status="completed", ended_at=now - timedelta(days=29))
    running = make_batch(workspace, created_at=now - timedelta(days=40))

    pruned = prune(now=now)

    assert pruned.batches == 1
    assert set(Batch.objects.all()) == {fresh, running}
    assert old not in Batch.objects.all()


def test_a_developer_sees_and_cancels_batches_of_their_own_keys() -> None:
    workspace = make_workspace()
    person = make_member(workspace, Role.DEVELOPER)
    key = make_key(workspace).key
    ApiKey.objects.filter(pk=key.pk).update(created_by=person)
    own, other = make_batch(workspace, key=key), make_batch(workspace)
    client = signed_in(person)

    page = client.get(path_of("batch-list")).content.decode()
    asked = client.get(path_of("batch-cancel", own.pk), headers=HTMX).content.decode()
    client.post(path_of("batch-cancel", own.pk))
    refused = client.post(path_of("batch-cancel", other.pk))

    assert own.public_id in page
    assert other.public_id not in page
    assert "Cancel this batch?" in asked
    own.refresh_from_db()
    assert (own.status, own.stop_code) == ("cancelling", "batch_cancelled")
    assert refused.status_code == 404
    assert AuditEvent.objects.get(action="batch.cancel").target == own.public_id
    assert client.get(path_of("batch-output", other.pk)).status_code == 404
