"""The product on PostgreSQL: calls, limits, pages, commands, crashes and outages, over sockets."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.flows.caller import Answer
from tests.flows.site import INPUT_NUSD, OUTPUT_NUSD, Site, running_site
from tests.flows.stored_files.asking import (
    PDF,
    PNG,
    SCOPES,
    delete,
    get,
    upload,
    uploaded,
)
from tests.flows.test_sessions import Visitor
from tests.flows.tools.test_exhausted import Paid, Way, hold_nusd, tokens
from tests.support.postgresql import PostgresqlServer, running_postgresql
from tests.support.servers import prepare_home
from tests.support.storage import database_of
from tests.support.waiting import wait_until

pytestmark = pytest.mark.slow

ODD = "%00'%25_\\%22%F0%9F%98%80"
PAGES = (
    *("", "/calls", "/calls?status=ok&model=fake-model&stream=yes", "/calls?period=90d&latency=1"),
    *(f"/calls?id={ODD}", f"/calls?user={ODD}&error={ODD}&provider={ODD}&ip={ODD}&key={ODD}"),
    *(
        "/calls.csv",
        "/keys",
        f"/keys?q={ODD}&state=revoked",
        "/credits",
        "/credits?show=entries",
    ),
    *("/members", f"/members?q={ODD}", "/settings", "/audit", f"/audit?q={ODD}", "/?period=90d"),
)
INSTALLATION = (
    *("/models", f"/models?q={ODD}", "/providers", f"/providers?q={ODD}", "/workspaces"),
    *(f"/workspaces?q={ODD}", "/audit", f"/search?q={ODD}", "/account"),
)


@pytest.fixture(scope="module")
def site(postgresql_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    home = Path(shutil.copytree(postgresql_template, tmp_path_factory.mktemp("pg") / "home"))
    with running_site(home) as running:
        yield running


@contextmanager
def locked(server: PostgresqlServer, database: str, table: str) -> Iterator[None]:
    """Keep everybody else from writing to a table."""
    with psycopg.connect(server.url(database)) as connection:
        connection.execute(f"LOCK TABLE {table} IN EXCLUSIVE MODE")
        yield


def database(site: Site) -> str:
    return database_of(site.gateway.home)


def test_calls_are_charged_recorded_and_read_back(site: Site) -> None:
    caller = site.caller()

    site.office.do("store_bodies", workspace_id=caller.workspace_id)
    whole = caller.ask("a\u0000b", model=site.gateway.model)
    stream = caller.stream("a", max_tokens=10)
    twice = [caller.ask("a", headers={"idempotency-key": "one"}) for _ in range(2)]
    refused = caller.ask("a", model="nobody")

    answers: list[Answer] = [whole, stream, *twice]
    assert [answer.status for answer in answers] == [200] * 4
    assert refused.status == 404
    assert twice[0].body == twice[1].body
    records = site.records(caller, count=4)
    charged = sum(record["charge_nusd"] for record in records)
    assert charged > INPUT_NUSD + OUTPUT_NUSD
    wait_until(lambda: site.balance_nusd(caller) == 10**9 - charged, what="the charges")
    assert "simulated" in site.office.do("body", call_id=whole.call_id)["response"]
    read = caller.ask(method="GET", raw=b"", path=f"/v1/generation?id={stream.call_id}")
    usage = caller.ask(method="GET", raw=b"", path="/v1/usage")
    assert (read.status, usage.status) == (200, 200), read.body + usage.body


def test_limits_and_budgets_hold_for_calls_at_once(site: Site) -> None:
    cost_nusd = INPUT_NUSD + 10 * OUTPUT_NUSD
    poor = site.caller(credit_nusd=5 * cost_nusd + cost_nusd // 2)
    limited = site.limited_caller(max_requests_per_minute=6, burst=6)

    with ThreadPoolExecutor(16) as threads:
        paid = list(threads.map(lambda _: poor.ask("a", max_tokens=10).status, range(16)))
        let_in = list(threads.map(lambda _: limited.ask("a").status, range(16)))

    assert set(paid) <= {200, 402}
    assert 1 <= paid.count(200) <= 6
    assert let_in.count(200) == 6
    assert let_in.count(429) == 10
    assert site.balance_nusd(poor) >= 0


def test_a_backtest_refuses_what_its_limits_refuse(site: Site) -> None:
    caller = site.caller()
    made = [caller.ask("a", max_tokens=5).call_id for _ in range(3)]
    site.records(caller, count=3)
    proposed = f"--key {caller.key_id} --metric requests --maximum 2 --period day"

    answer = site.gateway.manage(
        *("backtest_rules", "--workspace", caller.workspace_id),
        *("--set", proposed, "--list", "--latest", "1000"),
    )

    assert [call["id"] for call in answer["refused_calls"]] == made[2:]


def test_every_page_answers_whatever_is_looked_for(site: Site) -> None:
    caller = site.caller()
    caller.ask("a")
    site.records(caller)
    visitor = Visitor(site.gateway.port)
    assert visitor.sign_in(site.gateway.email, site.gateway.password)
    visitor.get("/calls")

    own = {path: visitor.get(f"{visitor.workspace}{path}") for path in PAGES}
    others = {path: visitor.get(path) for path in INSTALLATION}

    found: dict[str, Any] = own | others
    assert {path: status for path, status in found.items() if status != 200} == {}


def test_who_has_to_wait_for_a_lock_is_told_so(site: Site, postgresql: PostgresqlServer) -> None:
    caller = site.caller()
    assert caller.ask("a").status == 200
    visitor = Visitor(site.gateway.port)

    with locked(postgresql, database(site), "gateway_keptanswer"):
        claim = caller.ask("a", headers={"idempotency-key": "locked"})
        ordinary = caller.ask("a")
    with locked(postgresql, database(site), "django_session"):
        status = visitor.post(
            "/sign-in", {"login": site.gateway.email, "password": site.gateway.password}
        )

    assert (claim.status, claim.error["code"]) == (503, "database_unavailable")
    assert int(claim.headers["retry-after"]) >= 1
    assert ordinary.status == 200
    assert status == 503
    assert "The database is not answering" in visitor.text


def test_a_killed_server_goes_on_where_it_was(site: Site) -> None:
    caller = site.caller()
    before = caller.ask("a", max_tokens=10)
    with caller.begin(f"script:gate&gate={caller.key_id}", stream=True) as live:
        site.running(caller, count=1)
        site.gateway.kill()
        live.close()

    site.gateway.restart()

    assert site.record(before.call_id)["status"] == "ok"
    statuses = {record["status"] for record in site.records(caller, count=2)}
    assert statuses == {"ok", "platform_aborted"}
    assert caller.ask("a").status == 200


def test_a_start_survives_a_deadlock_with_another_program(
    site: Site, postgresql: PostgresqlServer
) -> None:
    caller = site.caller()
    assert caller.ask("a", max_tokens=10).status == 200
    site.gateway.kill()  # with credits, which the next start returns
    waiting = (
        "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'accounts_purse'::regclass"
    )

    with ThreadPoolExecutor(1) as pool, psycopg.connect(postgresql.url(database(site))) as other:
        other.execute("SET deadlock_timeout = '60s'")  # the start's transaction is ended, not this
        other.execute("LOCK TABLE accounts_purse IN EXCLUSIVE MODE")
        start = pool.submit(site.gateway.restart)
        wait_until(
            lambda: postgresql.run(waiting, database=database(site)) != "0",
            what="the start to wait for the table",
        )
        other.execute("LOCK TABLE gateway_servingprocess IN EXCLUSIVE MODE")
        other.rollback()
        start.result()

    assert "deadlock detected" in site.gateway.log.read_text()
    assert caller.ask("a", max_tokens=10).status == 200
    assert {record["status"] for record in site.records(caller, count=2)} == {"ok"}


def test_a_database_server_that_is_killed_costs_no_answered_call(tmp_path: Path) -> None:
    with running_postgresql() as own:
        home, env = tmp_path / "home", {"DATABASE_URL": own.url()}
        prepare_home(home, env=env)
        with running_site(home, env) as site:
            caller = site.caller()
            answers = [caller.ask("a", max_tokens=10) for _ in range(5)]

            own.stop()
            during = [caller.ask("a", max_tokens=10) for _ in range(5)]
            cold = caller.with_(secret="sk-gw-nobody").ask("a")
            own.start()

            wait_until(lambda: caller.ask("a").status == 200, what="calls to be admitted again")
            with suppress(AssertionError):
                site.office.do("drawn_nusd")  # it notices that its connection is gone
            page = wait_until(
                lambda: Visitor(site.gateway.port).get("/sign-in") == 200, what="pages again"
            )

            assert page
            assert {answer.status for answer in during} <= {200, 503}
            assert all("retry-after" in a.headers for a in during if a.status == 503)
            assert cold.status == 503
            served = [answer.call_id for answer in answers + during if answer.status == 200]
            assert {site.record(call_id)["status"] for call_id in served} == {"ok"}


def test_files_are_uploaded_listed_read_and_deleted(site: Site) -> None:
    caller = site.caller(scopes=SCOPES)
    stranger = site.caller(scopes=SCOPES)
    limits = {"max_files": 4, "max_storage_bytes": 4 * len(PDF)}
    site.office.do("storage_limits", workspace_id=caller.workspace_id, **limits)
    once = {"idempotency-key": "once"}

    first = upload(caller, filename="a\u00e9.pdf", headers=once).json["id"]
    again = upload(caller, filename="a\u00e9.pdf", headers=once)
    second, third = (uploaded(caller, filename=f"{number}.pdf") for number in range(2))
    picture = uploaded(caller, PNG, filename="a.png", purpose="vision")
    with ThreadPoolExecutor(4) as threads:
        over = list(threads.map(lambda _: upload(caller), range(4)))
    listed = ids(get(caller))
    page = get(caller, "?limit=2&order=asc")
    rest = get(caller, f"?limit=2&order=asc&after={page.json['last_id']}")
    content = get(caller, f"/{second}/content")
    deleted = [delete(caller, second).status for _ in range(2)]

    assert (again.json["id"], again.headers["idempotent-replayed"]) == (first, "true")
    assert {answer.error["code"] for answer in over} == {"storage_quota_exceeded"}
    assert listed == [picture, third, second, first]
    assert (ids(page), page.json["has_more"]) == ([first, second], True)
    assert (ids(rest), rest.json["has_more"]) == ([third, picture], False)
    assert ids(get(caller, "?purpose=vision")) == [picture]
    assert get(caller, f"/{first}").json["filename"] == "a\u00e9.pdf"
    assert content.body == PDF
    assert get(stranger, f"/{first}").status == 404
    assert deleted == [200, 404]
    assert ids(get(caller, f"?after={second}")) == [first]
    used = site.office.do("stored_bytes", workspace_id=caller.workspace_id)
    assert used == [3, 2 * len(PDF) + len(PNG)]
    assert upload(caller).status == 200


def ids(answer: Answer) -> list[str]:
    return [file["id"] for file in answer.json["data"]]


def test_what_a_budget_has_left_pays_for_a_last_round_of_server_tools(site: Site) -> None:
    way = Way("fake-model", "chat", stream=True)
    both_nusd = hold_nusd(site, way, rounds=1, max_tokens=10)

    short = Paid(site, way, "budget", both_nusd - 4 * OUTPUT_NUSD, max_tokens=10)

    assert way.read(short.answer) == (tokens(6), "length")
    short.assert_exact(rounds=2)
