"""Whatever an address asks for behind its question mark, a page comes or says what is wrong."""

from __future__ import annotations

from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.test import Client

from tests.dashboard.test_every_page import PAGES, WITHOUT_SUBJECT
from tests.dashboard.visitors import HTMX, path_of, signed_in
from tests.factories import make_user, make_workspace

pytestmark = pytest.mark.django_db

# Percent-encoded, as they come over the wire.
HOSTILE = {
    "NUL": "%00",
    "NUL within": "a%00b",
    "lone surrogate": "%ED%A0%80",
    "not UTF-8": "%FF%FE%C0%AF",
    "10 KB": "a" * 10_240,
    "long number": "9" * 5_000,
    "negative": "-1",
    "huge": "99999999999999999999999",
    "beyond 64 bits": "18446744073709551616",
    "a float": "1.5e308",
    "infinite": "1e999",
    "not a number": "NaN",
    "other digits": "%D9%A1%D9%A2",
    "superscript": "%C2%B2",
    "a list": "[]",
    "a query": "%27%20OR%201=1%20--",
    "wildcards": "%25%25%25_%25",
    "a script": "%3Cscript%3Ealert(1)%3C/script%3E",
    "line feeds": "a%0D%0AX-Evil:%201",
    "the first day": "0001-01-01T00:00",
    "the last day": "9999-12-31T23:59",
    "the last day, elsewhere": "9999-12-31T23:59-14:00",
    "no day": "2026-02-30T25:61",
    "no id": "ffffffff-ffff-ffff-ffff-ffffffffffff",
    "empty": "",
    "bidi": "%E2%80%AE%F0%9F%98%80",
}
# What each page reads. A period has a meaning of its own beside `from` and `to`.
PERIODS = ("from={0}&to={0}", "period={0}", "from=2026-01-01T00:00&to={0}")
FILTERS = "status={0}&model={0}&error={0}&key={0}&streamed={0}&fallback={0}&min_ms={0}"
QUERIES = {
    "call-list": (FILTERS, *PERIODS, "after={0}", "before={0}", "id={0}"),
    "call-export": (f"{FILTERS}&{FILTERS}", *PERIODS, "after={0}"),
    "overview": PERIODS,
    "audit": ("q={0}", "before={0}", "of={0}"),
    "audit-installation": ("q={0}", "before={0}"),
    "credits": ("before={0}", "after={0}", "show={0}"),
    "workspace-list": ("q={0}", "before={0}"),
    "key-list": ("q={0}&state={0}", "before={0}"),
    "palette": ("q={0}",),
    "model-create": ("provider={0}",),
    "join": ("code={0}&next={0}",),
}
PLACES = {
    "call-list": ("after", "before"),
    "call-export": ("after", "before"),
    "audit": ("before",),
    "credits": ("after", "before"),
    "workspace-list": ("before",),
    "key-list": ("before",),
}


def visit(client: Client, name: str, query: str) -> Any:
    answer = client.get(path_of(f"{name}"), QUERY_STRING=query, headers=HTMX)
    if answer.streaming:
        async_to_sync(read_whole)(answer)
    return answer


async def read_whole(answer: Any) -> None:
    async for _ in answer.streaming_content:
        pass


@pytest.fixture
def client() -> Client:
    make_workspace()
    operator = signed_in(make_user(is_operator=True))
    operator.raise_request_exception = False
    return operator


@pytest.mark.parametrize("name", QUERIES)
def test_no_query_breaks_a_page(client: Client, name: str) -> None:
    statuses = {
        (query, text): visit(client, name, query.format(raw)).status_code
        for query in QUERIES[name]
        for text, raw in HOSTILE.items()
    }

    assert {place: status for place, status in statuses.items() if status >= 500} == {}


@pytest.mark.parametrize("name", [name for name in PAGES if name in WITHOUT_SUBJECT])
def test_a_page_that_reads_no_query_does_not_mind_one(client: Client, name: str) -> None:
    queries = ("a=%00&%ED%A0%80=%FF", "&&==&=a;b", "a=" + "9" * 5_000)

    assert {visit(client, name, query).status_code for query in queries} <= {200, 204}


@pytest.mark.parametrize("name", PLACES)
def test_a_place_in_a_list_that_does_not_exist_is_refused(client: Client, name: str) -> None:
    not_ids = {text: raw for text, raw in HOSTILE.items() if text not in ("empty", "no id")}

    for param in PLACES[name]:
        for raw in not_ids.values():
            answer = visit(client, name, f"{param}={raw}")
            assert answer.status_code == 400, (param, raw)
            assert f"an invalid page ({param})" in answer.content.decode()
