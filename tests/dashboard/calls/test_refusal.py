"""The page of a refused call: which check, whose limit, how much."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import Role, Workspace
from dashboard.calls.refusal import refusal_of
from gateway.models import CallRecord
from tests.dashboard.visitors import signed_in
from tests.factories import make_member, make_workspace

pytestmark = pytest.mark.django_db


def make_refused(workspace: Workspace, refusal: dict[str, Any] | None) -> CallRecord:
    return CallRecord.objects.create(
        id=uuid.uuid4(),
        workspace_id=workspace.pk,
        key_id=uuid.uuid4(),
        process_id=uuid.uuid4(),
        created_at=timezone.now(),
        status=CallRecord.Status.REFUSED,
        http_status=429,
        error_code="rate_limit_exceeded",
        refusal=refusal,
    )


def facts(call: CallRecord) -> dict[str, str]:
    refusal = refusal_of(call)
    assert refusal is not None
    return {"check": refusal.check} | {fact.label: fact.text for fact in refusal.facts}


def limit(metric: str, most: int, period: str | None = None) -> dict[str, Any]:
    return {"metric": metric, "period": period, "max": most, "per_request": False}


def test_a_limit_on_requests() -> None:
    said = {"level": "organisation", "limit": limit("requests", 60, "minute")}
    call = make_refused(make_workspace(), {"step": "limits", **said, "current": 60, "requested": 1})

    assert facts(call) == {
        "check": "Limits per period",
        "Limit of": "Workspace",
        "Limit": "60 requests per minute",
        "Used": "60 requests",
        "Requested": "1 requests",
    }


def test_a_budget() -> None:
    said = {
        "step": "budget",
        "level": "token",
        "limit": limit("cost_micro_usd", 2_500_000, "day"),
        "current": 2_400_000,
        "requested": 200_000,
        "resets_at": "2026-01-02T00:00:00+00:00",
    }

    found = facts(make_refused(make_workspace(), said))

    assert (found["Limit"], found["Used"]) == ("$2.50 per day", "$2.40")
    assert (found["Requested"], found["Resets at"]) == ("$0.20", "2026-01-02 00:00 UTC")


def test_a_scope() -> None:
    call = make_refused(make_workspace(), {"step": "scope", "required_scope": "files"})

    assert facts(call) == {"check": "Scope", "Required scope": "files"}


@pytest.mark.parametrize("refusal", [None, {}, {"step": "unheard of"}, []])
def test_records_that_do_not_say_it(refusal: Any) -> None:
    assert refusal_of(make_refused(make_workspace(), refusal)) is None


def test_the_page_shows_it() -> None:
    workspace = make_workspace()
    call = make_refused(
        workspace,
        {"step": "limits", "level": "token", "limit": limit("requests", 60, "minute")},
    )
    old = make_refused(workspace, None)
    client = signed_in(make_member(workspace, Role.OWNER))

    page = client.get(f"/calls/{call.pk}")
    without = client.get(f"/calls/{old.pk}")

    assert "Refused by" in page.content.decode()
    assert "60 requests per minute" in page.content.decode()
    assert without.status_code == 200
    assert "Refused by" not in without.content.decode()
