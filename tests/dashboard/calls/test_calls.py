"""Calls: a list by its URL, one call explained, a file that is safe to open."""

from __future__ import annotations

import csv
import io
import re
import uuid
from decimal import Decimal
from typing import Any

import pytest
from django.db.models import F
from django.test import AsyncClient, Client
from msgspec.structs import replace

from accounts.models import Role, User, Workspace
from dashboard.calls.detail import exact_usd
from dashboard.calls.export import HEADER, neutral
from dashboard.calls.status_text import error_words
from dashboard.templatetags.money import usd
from dashboard.ui.period_choice import REVERSED
from gateway.core.latency_histogram import upper_us
from gateway.models import CallBody, CallRecord, LatencyRollup
from gateway.stores.drain import apply
from keys.models import ApiKey
from tests.dashboard.demo_data import make_demo_data
from tests.dashboard.visitors import path_of, signed_in
from tests.factories import make_member, make_user, make_workspace
from tests.money.office import refused

pytestmark = pytest.mark.django_db
URL = "/calls"


@pytest.fixture
def workspace() -> Workspace:
    workspace = make_workspace("Northwind")
    make_demo_data(workspace, days=2, calls_per_day=400)
    return workspace


@pytest.fixture
def owner(workspace: Workspace) -> User:
    return make_member(workspace, Role.OWNER)


@pytest.fixture
def client(owner: User) -> Client:
    return signed_in(owner)


def as_somebody(workspace: Workspace, role: str) -> Client:
    return signed_in(make_member(workspace, role))


def shown(page: Any) -> list[uuid.UUID]:
    return [row.call.id for row in page.context["table"].items]


def test_the_list_is_the_newest_calls_with_links_to_older_ones(client: Client) -> None:
    ids = list(CallRecord.objects.order_by("-id").values_list("id", flat=True))

    first = client.get(URL)
    second = client.get(first.context["pager"].older_url)
    back = client.get(second.context["pager"].newer_url)

    assert shown(first) == ids[:50]
    assert shown(second) == ids[50:100]
    assert shown(back) == ids[:50]


def test_filters_live_in_the_url_and_carry_over_to_other_pages(client: Client) -> None:
    query = "period=7d&status=ok&model=gpt-5-mini&streamed=yes&min_ms=5"

    page = client.get(f"{URL}?{query}&key=&error=&unknown=1", headers={"HX-Request": "true"})

    assert all(row.call.model == "gpt-5-mini" for row in page.context["table"].items)
    assert page["HX-Push-Url"] == f"/w/northwind{URL}?{query}"
    assert page.context["older_query"].startswith(f"{query}&before=")


@pytest.mark.parametrize(
    "query",
    [
        "status=nonsense",
        "key=nonsense",
        "min_ms=-1",
        "min_ms=%D9%A3",
        "min_ms=99999999999999999999999",
        "streamed=perhaps",
        "model=%00%F0%9F%92%A9",
        "period=all&error=%27%22%3Cscript%3E",
        "from=2026-13-45",
        "before=ffffffff-ffff-ffff-ffff-ffffffffffff",
        "after=ffffffff-ffff-ffff-ffff-fffffffffffe",
        "after=ffffffff-ffff-ffff-ffff-ffffffffffff",
        "after=00000000-0000-0000-0000-000000000000",
    ],
)
def test_a_url_edited_by_hand_still_gives_a_page(client: Client, query: str) -> None:
    page = client.get(f"{URL}?{query}")

    assert page.status_code == 200
    assert b"<script>" not in page.content


@pytest.mark.parametrize("spelling", ["{}", "chatcmpl-{}", "gen-{}", "  {} "])
def test_an_id_in_any_spelling_leads_to_its_call(client: Client, spelling: str) -> None:
    call = CallRecord.objects.earliest("id")

    page = client.get(URL, {"id": spelling.format(call.id), "status": "refused"})

    assert page.status_code == 302
    assert page["Location"] == f"/w/northwind{path_of('call-detail', call.id)}"


def test_an_id_that_is_not_there_says_so(client: Client) -> None:
    page = client.get(URL, {"id": str(uuid.uuid4())})

    assert b"No call that you can see in this workspace" in page.content


def test_refusals_that_are_only_counted_say_how_many_they_are(
    client: Client, workspace: Workspace
) -> None:
    key = ApiKey.objects.filter(workspace=workspace).earliest("id")
    first = refused(str(workspace.pk), key_id=str(key.pk))
    for number, counted in enumerate((1_000, 234)):
        apply(uuid.uuid4(), [replace(first, counted=counted)], source=f"a batch {number}")

    page = client.get(URL).content.decode()
    detail = client.get(f"{URL}/{first.call_id}").content.decode()

    assert "\N{MULTIPLICATION SIGN} 1,234</span>" in page
    assert "1,234 calls in the same minute" in detail


def test_calls_that_another_model_served_are_found_and_say_so(client: Client) -> None:
    fallen_back = CallRecord.objects.exclude(fallback_from="").order_by("-id")
    call = fallen_back[0]

    listed = client.get(f"{URL}?period=all&fallback=yes")
    page = client.get(path_of("call-detail", call.id)).content.decode()

    assert shown(listed) == [one.id for one in fallen_back[:50]]
    assert f"fallback for {call.fallback_from}" in listed.content.decode()
    assert f"fallback {call.fallback_depth} of {call.fallback_from}" in page
    assert f'<span class="cell-sub">{call.model}</span>' in page


def test_a_model_finds_calls_that_asked_for_it_and_those_that_it_served(client: Client) -> None:
    refused = CallRecord.objects.filter(status="refused").latest("id")
    moved = CallRecord.objects.filter(status="ok").exclude(requested_model=F("model")).latest("id")
    wanted = [
        (refused, refused.requested_model, ""),
        (refused, refused.requested_model, "&status=refused"),
        (moved, moved.requested_model, ""),
        (moved, moved.requested_model, "&status=ok"),
        (moved, moved.model, ""),
    ]

    for call, name, query in wanted:
        place = uuid.UUID(int=call.id.int + 1)
        page = client.get(f"{URL}?period=all&model={name}{query}&before={place}")
        assert shown(page)[:1] == [call.id]
        both = f'title="Requested: {call.requested_model}"'
        assert (both in page.content.decode()) == (call is moved)
    nothing = client.get(f"{URL}?period=all&model=never-heard-of-it")
    assert shown(nothing) == []


def test_added_time_is_without_the_attempts_that_failed(client: Client) -> None:
    call = CallRecord.objects.filter(status="ok", failed_us__gt=0).latest("id")
    place = uuid.UUID(int=call.id.int + 1)

    row = client.get(f"{URL}?period=all&before={place}").context["table"].items[0]

    assert row.call.id == call.id
    assert row.added_us == call.total_us - call.upstream_us - call.failed_us
    added = LatencyRollup.objects.filter(measure="added").order_by("-bucket")[0]
    assert upper_us(added.bucket) < 2_000, "a failed attempt takes 80 ms at least"


@pytest.mark.parametrize("dates", ["from=2026-11-03&to=2026-11-01", "from=2190-01-01"])
@pytest.mark.parametrize("name", ["call-list", "overview"])
def test_a_period_that_ends_before_it_begins_is_refused_at_its_field(
    client: Client, name: str, dates: str
) -> None:
    page = client.get(path_of(name), QUERY_STRING=dates)
    file = client.get(path_of("call-export"), QUERY_STRING=dates)

    text = page.content.decode()
    assert page.status_code == 422
    assert REVERSED in text
    assert re.search(r'name="to"[^>]* aria-invalid="true"', text)
    assert f'value="{dates[5:15]}T00:00"' in text, "what was typed is still there"
    assert "row-link" not in text
    assert (file.status_code, file.content.decode()) == (422, REVERSED)


@pytest.mark.parametrize("status", ["ok", "in_progress", "refused", "upstream_error", "cancelled"])
def test_the_page_of_a_call_explains_it(client: Client, status: str) -> None:
    call = CallRecord.objects.filter(status=status).latest("id")

    page = client.get(path_of("call-detail", call.id))

    detail = page.context["detail"]
    assert page.status_code == 200
    assert sum(part.duration_us for part in detail.parts) == call.total_us
    assert detail.cost.price_nusd == call.charge_nusd + call.absorbed_nusd
    lines = sum(line.amount_pusd for line in detail.cost.lines)
    shown = [*(line.amount for line in detail.cost.lines), detail.cost.exact]
    assert Decimal(detail.cost.exact[1:]) * 10**12 == lines
    assert len({len(amount.partition(".")[2]) for amount in shown}) == 1
    assert abs(lines - 1_000 * detail.cost.price_nusd) <= 500
    has_answer = call.http_status < 400
    assert (f"chatcmpl-{call.id}".encode() in page.content) == has_answer
    assert b"style=" not in page.content
    for shown_of_admitted in (b"<dt>Admitted</dt>", b"<dt>Response</dt>"):
        assert (shown_of_admitted in page.content) == (status != "refused")
    has_ended = status not in ("refused", "in_progress")
    assert (b"Cost breakdown" in page.content) == has_ended


@pytest.mark.parametrize(
    ("status", "code", "meaning"),
    [
        ("refused", "invalid_request", "The request is invalid"),
        ("upstream_error", "invalid_request", "The provider rejected the request"),
        ("refused", "ip_not_allowed", "may not be used from this IP address"),
        ("refused", "from_another_age", ""),
        ("ok", "", ""),
    ],
)
def test_an_error_code_is_put_into_words(status: str, code: str, meaning: str) -> None:
    words = error_words(CallRecord(status=status, error_code=code))

    assert meaning in words
    assert bool(words) == bool(meaning)


def test_a_running_call_shows_what_is_held_and_no_counts_yet(client: Client) -> None:
    call = CallRecord.objects.filter(status="in_progress").latest("id")

    page = client.get(f"{URL}/{call.pk}").content.decode()

    assert f"{usd(call.hold_nusd)} held" in page
    assert "Exact total" not in page


def test_exact_amounts_keep_every_pico_dollar() -> None:
    assert exact_usd(1) == "$0.000000000001"
    assert exact_usd(12 * 10**12 + 500_000_000_000) == "$12.50"
    assert Decimal(exact_usd(10**24 + 1)[1:]) * 10**12 == 10**24 + 1


def test_a_body_is_shown_where_it_is_stored_and_never_run(
    client: Client, workspace: Workspace
) -> None:
    call = CallRecord.objects.filter(status="ok").latest("id")
    said = '{"messages": [{"role": "user", "content": "<script>alert(1)</script>"}]}'
    CallBody.objects.create(
        call_id=call.id,
        workspace_id=workspace.id,
        created_at=call.created_at,
        request=said,
        response='"\\ud800"',
    )

    page = client.get(path_of("call-detail", call.id))

    assert b"&lt;script&gt;alert(1)" in page.content
    assert b"\\ud800" in page.content


def test_a_missing_body_says_whether_storing_is_on(client: Client, workspace: Workspace) -> None:
    url = path_of("call-detail", CallRecord.objects.latest("id").id)

    off = client.get(url)
    Workspace.objects.filter(pk=workspace.pk).update(stores_bodies=True)
    on = client.get(url)

    assert b"Request logging is off" in off.content
    assert b"Nothing is stored for this call" in on.content


def test_a_developer_finds_the_calls_of_their_own_keys_alone(workspace: Workspace) -> None:
    client = as_somebody(workspace, Role.DEVELOPER)
    key = ApiKey.objects.get(label="Support inbox")
    ApiKey.objects.filter(pk=key.pk).update(created_by=client.session["_auth_user_id"])
    own = CallRecord.objects.filter(key_id=key.id).order_by("-id")
    foreign = CallRecord.objects.exclude(key_id=key.id).latest("id")

    page = client.get(URL)

    assert shown(page) == [call.id for call in own[:50]]
    assert client.get(f"{URL}/{foreign.id}").status_code == 404
    assert client.get(f"{URL}?id={foreign.id}").status_code == 200
    assert client.get(f"{URL}/{own[0].id}").status_code == 200


@pytest.mark.parametrize("path", ["", "/{id}", ".csv"])
def test_strangers_and_the_signed_out_get_nothing(workspace: Workspace, path: str) -> None:
    url = f"{URL}{path.format(id=CallRecord.objects.latest('id').id)}"
    stranger = as_somebody(make_workspace("Other"), Role.OWNER)
    nobody = signed_in(make_user())

    assert Client().get(url).status_code == 302
    assert nobody.get(url).status_code in (403, 404)
    answer = stranger.get(URL) if path == "" else stranger.get(f"{URL}/{uuid.uuid4()}")
    assert b"Checkout assistant" not in answer.content
    if path == "/{id}":
        assert stranger.get(url).status_code == 404


@pytest.mark.django_db(transaction=True)
async def test_the_file_has_every_call_that_the_filters_mean(
    workspace: Workspace, owner: User
) -> None:
    client = AsyncClient()
    await client.aforce_login(owner)
    dear = await CallRecord.objects.filter(status="ok").alatest("id")
    units = {"cache_write": {"count": 12, "pusd": 1}, "image": {"count": 2, "pusd": 5}}
    pages = {"pdf_pages": 3, "pdf_page_nusd": 1_000_000}
    await CallRecord.objects.filter(pk=dear.pk).aupdate(units=units, **pages)
    await workspace.keys.aupdate(label="\uff1d1+1")

    answer: Any = await client.get("/w/northwind/calls.csv?period=all&status=ok")
    text = "".join([part.decode() async for part in answer.streaming_content])

    rows = list(csv.DictReader(io.StringIO(text)))
    calls = {str(call.id): call async for call in CallRecord.objects.filter(status="ok")}
    assert answer["Content-Disposition"].startswith('attachment; filename="calls-northwind-')
    assert tuple(rows[0]) == HEADER
    assert {row["key"] for row in rows} == {"'\uff1d1+1"}
    assert [row["id"] for row in rows] == sorted(calls, reverse=True)
    assert all(Decimal(row["charge_usd"]) * 10**9 == calls[row["id"]].charge_nusd for row in rows)
    assert [(row["pdf_pages"], row["pdf_fee_usd"]) for row in rows[:2]] == [
        ("3", "0.003"),
        ("0", "0.00"),
    ]
    assert [row["other_units"] for row in rows[:2]] == ["cache_write=12 image=2", ""]


FORMULAS = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n1", "\tplain", "  =1", "\u00a0+1"]
WIDE_SIGNS = [
    "\uff1d1",
    "\uff0b1",
    "\uff0d1",
    "\uff20SUM",
    "\ufe661",
    "\u22121",
    "\u200b=1",
    "\ufeff@1",
]


@pytest.mark.parametrize("text", FORMULAS + WIDE_SIGNS)
def test_no_cell_is_a_formula(text: str) -> None:
    assert neutral(text) == f"'{text}"
    assert neutral(f"plain {text}") == f"plain {text}"


@pytest.mark.parametrize(
    ("query", "heading"),
    [
        ("period=24h", "Last 24 hours, rounded to 30 min<span"),
        ("", "Last 7 days, rounded to 3 h<span"),
    ],
)
def test_the_list_says_what_the_start_is_rounded_to(
    client: Client, query: str, heading: str
) -> None:
    assert heading in client.get(f"{URL}?{query}").content.decode()
    assert "rounded to" not in client.get(f"{URL}?period=all").content.decode()
