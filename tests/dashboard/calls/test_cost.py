"""What a call cost and why, line by line on its page."""

from __future__ import annotations

from decimal import Decimal

import pytest
from django.test import Client

from accounts.models import Role
from gateway.core.ids import find_request_id
from gateway.models import CallRecord
from tests.dashboard.demo_data import make_demo_data
from tests.dashboard.visitors import path_of, signed_in
from tests.factories import make_member, make_workspace

pytestmark = pytest.mark.django_db


@pytest.fixture
def client() -> Client:
    workspace = make_workspace("Northwind")
    make_demo_data(workspace, days=1, calls_per_day=100)
    return signed_in(make_member(workspace, Role.OWNER))


@pytest.mark.parametrize(
    ("endpoint", "profile", "prefix"),
    [
        ("chat_completions", "unified", "chatcmpl-"),
        ("chat_completions", "hyperinfer", "gen-"),
        ("anthropic_messages", "hyperinfer", "msg_"),
        ("completions", "unified", "cmpl-"),
        ("completions", "hyperinfer", "gen-"),
        ("moderations", "unified", "modr-"),
        ("rerank", "unified", ""),
        ("responses", "unified", "resp_"),
    ],
)
def test_the_id_of_the_answer_is_as_its_caller_got_it(
    client: Client, endpoint: str, profile: str, prefix: str
) -> None:
    call = CallRecord.objects.filter(status="ok").latest("id")
    CallRecord.objects.filter(pk=call.pk).update(endpoint=endpoint, profile=profile)

    spellings = client.get(path_of("call-detail", call.id)).context["detail"].spellings

    assert [one.text for one in spellings if one.label == "Response ID"] == [f"{prefix}{call.id}"]
    assert find_request_id(f"{prefix}{call.id}") == call.id


def test_answers_without_an_id_have_none(client: Client) -> None:
    embedded, refused = CallRecord.objects.filter(status="ok").order_by("-id")[:2]
    CallRecord.objects.filter(pk=embedded.pk).update(endpoint="embeddings")
    CallRecord.objects.filter(pk=refused.pk).update(http_status=502)

    for call in (embedded, refused):
        spellings = client.get(path_of("call-detail", call.id)).context["detail"].spellings
        assert "Response ID" not in [one.label for one in spellings]


def test_the_page_of_a_call_shows_the_fee_for_its_pages(client: Client) -> None:
    call = CallRecord.objects.filter(status="ok").latest("id")
    plain = client.get(path_of("call-detail", call.id))
    fee_nusd = 3 * 1_000_000
    CallRecord.objects.filter(pk=call.pk).update(
        pdf_pages=3,
        pdf_page_nusd=1_000_000,
        charge_nusd=call.charge_nusd + fee_nusd,
        hold_nusd=call.hold_nusd + fee_nusd,
    )

    page = client.get(path_of("call-detail", call.id))

    cost = page.context["detail"].cost
    lines = sum(line.amount_pusd for line in cost.lines)
    assert Decimal(cost.exact[1:]) * 10**12 == lines + 1_000 * fee_nusd
    assert Decimal(cost.fee[1:]) * 10**9 == fee_nusd
    assert b"PDF page images" not in plain.content
    assert b"PDF page images" in page.content
    assert b"$0.001 per page" in page.content


def test_the_page_of_a_call_shows_other_units_at_their_prices(client: Client) -> None:
    call = CallRecord.objects.filter(status="ok", cached_tokens=0).latest("id")
    CallRecord.objects.filter(pk=call.pk).update(
        prompt_tokens=1_000,
        cached_tokens=100,
        completion_tokens=10,
        input_pusd_per_token=3_000_000,
        cached_input_pusd_per_token=300_000,
        output_pusd_per_token=15_000_000,
        units={
            "cache_write": {"count": 400, "pusd": 3_750_000},
            "image": {"count": 2, "pusd": 40_000_000_000},
            "second": {"count": 1_500, "pusd": 100_000},
        },
        tool_uses=[{"name": "search", "uses": 3, "nusd_each": 5_000_000}],
    )

    cost = client.get(path_of("call-detail", call.id)).context["detail"].cost

    assert [(line.label, line.counted, line.price, line.amount) for line in cost.lines] == [
        ("Prompt, other", "500", "$3.00 per 1M tokens", "$0.00150"),
        ("Prompt, cached", "100", "$0.30 per 1M tokens", "$0.00003"),
        ("Prompt, cache writes", "400", "$3.75 per 1M tokens", "$0.00150"),
        ("Completion", "10", "$15.00 per 1M tokens", "$0.00015"),
        ("Images", "2", "$0.04 per image", "$0.08000"),
        ("Audio", "1.5", "$0.0001 per second", "$0.00015"),
    ]
    assert (cost.fee, cost.exact) == ("$0.01500", "$0.09833")
