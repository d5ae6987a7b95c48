"""The page of a call shows what its processors did, as the record has it."""

from __future__ import annotations

import uuid
from typing import Any

import msgspec
import pytest
from django.utils import timezone

from accounts.ids import new_id
from accounts.models import Role, Workspace
from dashboard.calls.processors import processor_table
from gateway.core.admission_steps import describe_refusal
from gateway.core.processor_errors import LanguageNotSupported, ProcessorRejected
from gateway.core.receipt import ProcessorUse
from gateway.models import CallRecord
from tests.dashboard.visitors import path_of, signed_in
from tests.factories import make_member, make_workspace

pytestmark = pytest.mark.django_db
USES = (
    ProcessorUse("require_local", "passed", 40, {"upstream": "on_prem"}),
    ProcessorUse(
        "anonymise",
        "applied",
        3_400,
        {"entities": 1_200, "entity_types": ["EMAIL_ADDRESS", "PERSON"], "restored": 2},
    ),
)


def make_call(workspace: Workspace, **fields: Any) -> CallRecord:
    values: dict[str, Any] = {
        "id": new_id(),
        "workspace_id": workspace.pk,
        "key_id": uuid.uuid4(),
        "process_id": uuid.uuid4(),
        "created_at": timezone.now(),
        "status": CallRecord.Status.OK,
        "http_status": 200,
        "processors": msgspec.to_builtins(USES),
    }
    return CallRecord.objects.create(**values | fields)


def show(workspace: Workspace, call: CallRecord) -> str:
    client = signed_in(make_member(workspace, Role.OWNER))
    return str(client.get(path_of("call-detail", call.pk)).content.decode())


def test_the_page_shows_verdict_counts_and_time_of_each() -> None:
    workspace = make_workspace()
    call = make_call(workspace)

    page = show(workspace, call)

    _, _, card = page.partition('id="processors-title"')
    card, _, _ = card.partition("</section>")
    places = [card.index(text) for text in ("require_local", "anonymise")]
    assert places == sorted(places)
    for text in (
        "Passed</span>",
        "Upstream: on_prem",
        "40 µs",
        "Applied</span>",
        "Entities: 1,200 · Entity types: EMAIL_ADDRESS, PERSON · Restored: 2",
        "3.4 ms",
    ):
        assert text in card, text


def test_a_call_without_processors_has_no_such_card() -> None:
    workspace = make_workspace()

    assert "processors-title" not in show(workspace, make_call(workspace, processors=None))


def test_a_call_that_a_processor_refused_names_it_and_what_it_found_by_type() -> None:
    workspace = make_workspace()
    error = ProcessorRejected.of(
        "pii_guard",
        "The prompt has personal data.",
        reason="personal_data",
        found={"entity_types": ["IBAN_CODE", "PERSON"]},
    )
    refusal = describe_refusal(error)
    call = make_call(workspace, status=CallRecord.Status.REFUSED, processors=None, refusal=refusal)

    page = show(workspace, call)

    for text in ("Processor: pii_guard", "Reason: personal_data", "Types found: IBAN_CODE, PERSON"):
        assert text in page, text
    unsupported = describe_refusal(LanguageNotSupported.of("anonymise", "xx", ["en"]))
    assert unsupported == {"step": "parameters", "param": "inferada.language"} | {
        "processor": "anonymise"
    }


@pytest.mark.parametrize(
    "uses", [None, {}, "x", ["x", 7], [{}], [{"name": 1, "details": [], "us": "x"}]]
)
def test_records_that_are_odd_still_give_a_page(uses: Any) -> None:
    table = processor_table(uses)

    assert all(isinstance(line.name, str) for line in table.items)


def test_verdicts_and_details_of_any_processor_are_words() -> None:
    use = {"name": "own", "status": "not_needed", "details": {"is_whole": True, "score": 0.25}}

    [line] = processor_table([use]).items

    assert (line.verdict, line.badge) == ("Not needed", "badge-warn")
    assert line.details == ["Is whole: yes", "Score: 0.25"]
