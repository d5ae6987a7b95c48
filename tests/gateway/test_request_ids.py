"""Ids that callers want: what is known, what cannot be found out, and by which names one finds."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.db import OperationalError

from accounts.models import Workspace
from gateway.models import CallRecord
from gateway.selectors.call_names import find_call_named
from gateway.selectors.visible import Visible
from gateway.stores.request_ids import RequestIds
from tests.dashboard.demo_data import make_demo_data
from tests.factories import make_workspace

WORKSPACE = str(uuid.uuid4())
WANTED = str(uuid.uuid4())


def takes(*workspaces: str, is_used: Callable[[], bool]) -> list[bool]:
    """Return what a process says to each wish for the same id, one after the other."""

    async def run(query: Any, /, *arguments: Any, **named: Any) -> Any:
        return is_used()

    async def ask() -> list[bool]:
        ids = RequestIds(run)
        return [await ids.take(workspace, WANTED) for workspace in workspaces]

    return asyncio.run(ask())


def test_an_id_is_good_once_in_each_workspace() -> None:
    answers = takes(WORKSPACE, WORKSPACE, str(uuid.uuid4()), is_used=lambda: False)

    assert answers == [True, False, True]


def test_an_id_that_is_written_down_is_not_good() -> None:
    assert takes(WORKSPACE, is_used=lambda: True) == [False]


def test_without_a_database_no_id_is_good() -> None:
    def fail() -> bool:
        raise OperationalError("gone")

    assert takes(WORKSPACE, is_used=fail) == [False]


@pytest.fixture
def record(db: None) -> CallRecord:
    """A call whose caller has given it WANTED; its workspace has others."""
    workspace = make_workspace()
    make_demo_data(workspace, days=1, calls_per_day=40)
    found = CallRecord.objects.filter(workspace_id=workspace.pk).latest("id")
    CallRecord.objects.filter(pk=found.pk).update(client_request_id=WANTED)
    return found


@pytest.mark.parametrize("text", ["{id}", "chatcmpl-{id}", "{wanted}", "chatcmpl-{wanted}"])
def test_a_call_is_found_by_each_of_its_names(record: CallRecord, text: str) -> None:
    name = text.format(id=record.pk, wanted=WANTED)

    assert find_call_named(Visible(record.workspace_id), name) == record
    assert find_call_named(Visible(Workspace(name="Other").pk), name) is None


@pytest.mark.parametrize(
    "text", ["", "\0", "x" * 500, "%", "chatcmpl-", "29913d14-7118-4f32-9ad7-33f0a41b04d6"]
)
def test_what_names_nothing_finds_nothing(record: CallRecord, text: str) -> None:
    assert find_call_named(Visible(record.workspace_id), text) is None
