"""The page of a refused call: its checks in their order, and of the refusing one whose limit, how
much."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import Role, Workspace
from dashboard.explain.trace import recorded_trace
from gateway.core.admission_steps import STEPS, describe_refusal
from gateway.core.errors import RequestError
from gateway.models import CallRecord
from tests.dashboard.visitors import path_of, signed_in
from tests.factories import make_key, make_member, make_workspace

pytestmark = pytest.mark.django_db


def make_refused(workspace: Workspace, refusal: object, **fields: Any) -> CallRecord:
    values: dict[str, Any] = {
        "id": uuid.uuid4(),
        "workspace_id": workspace.pk,
        "key_id": uuid.uuid4(),
        "process_id": uuid.uuid4(),
        "created_at": timezone.now(),
        "status": CallRecord.Status.REFUSED,
        "http_status": 429,
        "error_code": "rate_limit_exceeded",
        "refusal": refusal,
    }
    return CallRecord.objects.create(**values | fields)


def refused(said: dict[str, Any]) -> dict[str, str]:
    """Return what the check that refuses shows."""
    line = next(line for line in recorded_trace(said) if line.result == "refused")
    shown = {"check": line.title} | {fact.label: fact.text for fact in line.facts}
    for limit in line.limits:
        shown |= {"holder": limit.holder, "limit": limit.words}
        shown |= {"used": limit.used, "requested": limit.requested}
    return shown


def limit(metric: str, most: int, period: str | None = None) -> dict[str, Any]:
    return {"metric": metric, "period": period, "max": most, "per_request": False}


def test_a_limit_on_requests() -> None:
    said = {"level": "organisation", "limit": limit("requests", 60, "minute")}

    assert refused({"step": "limits", **said, "current": 60, "requested": 1}) == {
        "check": "Limits per period",
        "holder": "Workspace",
        "limit": "60 requests per minute",
        "used": "60",
        "requested": "1",
    }


def test_a_budget() -> None:
    found = refused(
        {
            "step": "budget",
            "level": "token",
            "limit": limit("cost_micro_usd", 2_500_000, "day"),
            "current": 2_400_000,
            "requested": 200_000,
            "resets_at": "2026-01-02T00:00:00+00:00",
        }
    )

    assert (found["limit"], found["used"]) == ("$2.50 per day", "$2.40")
    assert (found["requested"], found["Resets at"]) == ("$0.20", "2026-01-02 00:00 UTC")


def test_a_total_budget() -> None:
    said = {"step": "budget", "limit": limit("cost_micro_usd", 2_500_000, "total")}

    assert refused(said)["limit"] == "$2.50 in total"


def test_a_scope() -> None:
    said = {"step": "scope", "required_scope": "files"}

    assert refused(said) == {"check": "Scope", "Required scope": "files"}


def test_the_field_at_fault() -> None:
    error = RequestError("temperature: Expected more.", param="temperature" + "x" * 200)

    said = refused(describe_refusal(error))

    assert said["check"] == "Parameters"
    assert said["Field (param)"] == f"temperature{'x' * 89}"


@pytest.mark.parametrize("step", STEPS)
def test_checks_before_the_refusing_one_have_passed_and_none_after_it_was_reached(
    step: str,
) -> None:
    place = list(STEPS).index(step)

    lines = recorded_trace({"step": step})

    assert [line.title for line in lines] == list(STEPS.values())
    assert [line.result for line in lines] == [
        *["passed"] * place,
        "refused",
        *["not_reached"] * (len(STEPS) - place - 1),
    ]


def test_a_check_that_came_before_its_turn() -> None:
    lines = recorded_trace({"step": "limits", "last_passed": "parameters"})

    results = dict(zip(STEPS, [line.result for line in lines], strict=True))
    assert results["parameters"] == "passed"
    assert {results[step] for step in ("idempotency", "files", "money", "concurrency")} == {
        "not_reached"
    }
    assert results["limits"] == "refused"


@pytest.mark.parametrize(
    "refusal",
    [
        *(None, {}, {"step": "unheard of"}, [], {"step": ["key"]}),
    ],
)
def test_records_that_do_not_say_it(refusal: Any) -> None:
    assert recorded_trace(refusal) == []


@pytest.mark.parametrize(
    "said",
    [
        {"limit": "all of it", "resets_at": "2026-13-45T00:00:00"},
        {"limit": {}, "current": "many", "level": None, "last_passed": "unheard of"},
        {"limit": {"metric": "requests", "max": "9"}, "resets_at": 5, "rule_id": 7},
    ],
)
def test_numbers_that_are_none_are_left_out(said: dict[str, Any]) -> None:
    assert refused({"step": "limits", **said})["check"] == "Limits per period"


def test_the_page_shows_it() -> None:
    workspace = make_workspace()
    call = make_refused(
        workspace,
        {"step": "limits", "level": "token", "limit": limit("requests", 60, "minute")},
    )
    old = make_refused(workspace, None)
    client = signed_in(make_member(workspace, Role.OWNER))

    page = client.get(f"/calls/{call.pk}").content.decode()
    without = client.get(f"/calls/{old.pk}")

    assert page.count("Passed</span>") == list(STEPS).index("limits")
    assert "60 requests per minute" in page
    assert page.count("Not reached</span>") == 1
    assert without.status_code == 200
    assert "Checks" not in without.content.decode()


def test_the_page_leads_to_the_same_question_for_who_may_ask_it() -> None:
    workspace = make_workspace()
    key = make_key(workspace).key
    said = {"step": "address"}
    asked = {"requested_model": "gpt-5 mini", "endpoint": "embeddings", "ip": "203.0.113.7"}
    call = make_refused(workspace, said, key_id=key.pk, **asked)
    gone = make_refused(workspace, said)
    ended = make_refused(workspace, None, key_id=key.pk, status=CallRecord.Status.OK)
    owner = signed_in(make_member(workspace, Role.OWNER))
    viewer = signed_in(make_member(workspace, Role.VIEWER))

    url = owner.get(path_of("call-detail", call.pk)).context["explain_url"]

    assert url == (
        f"/w/{workspace.slug}/explain?key={key.pk}&model=gpt-5+mini&endpoint=embeddings"
        "&address=203.0.113.7"
    )
    for visitor, other in ((viewer, call), (owner, gone), (owner, ended)):
        page = visitor.get(path_of("call-detail", other.pk))
        assert page.context["explain_url"] == ""
        assert "Explain this call now" not in page.content.decode()
