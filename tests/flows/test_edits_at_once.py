"""Two people save the same form at the same instant: one is saved, the other person is told."""

from __future__ import annotations

import json
import re
import shutil
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from tests.flows.test_sessions import Visitor
from tests.support.rows import locked_database, select
from tests.support.servers import GatewayServer, running_gateway
from tests.support.storage import POSTGRESQL, STORAGES, database_url
from tests.support.waiting import wait_until

pytestmark = pytest.mark.slow

SEEN = re.compile(r'name="seen" value="(\w+)"')
WAITING = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND"
WAITING += " wait_event_type = 'Lock'"
RULES = {"models_mode": "all", "ips_mode": "all"}


@pytest.fixture(scope="module", params=STORAGES)
def gateway(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[GatewayServer]:
    template = "postgresql_template" if request.param == POSTGRESQL else "home_template"
    home = tmp_path_factory.mktemp("edits") / "home"
    home = Path(shutil.copytree(request.getfixturevalue(template), home))
    with running_gateway(home) as running:
        yield running


@contextmanager
def locked(gateway: GatewayServer, table: str) -> Iterator[Callable[[], object]]:
    """Let nobody write to the table; yields what returns when two wait to do so."""
    url = database_url(gateway.home)
    if not url:
        with locked_database(gateway.home):
            # SQLite does not tell who waits. Where this is too short, the test proves less.
            yield lambda: time.sleep(0.5)
        return
    with psycopg.connect(url) as connection:
        connection.execute(f"LOCK TABLE {table} IN EXCLUSIVE MODE".encode())
        yield lambda: wait_until(lambda: len(select(gateway.home, WAITING)) >= 2)
        connection.rollback()


@pytest.mark.parametrize(
    ("path", "form", "field", "values", "table"),
    [
        ("/settings/access-rules", RULES, "denied_models", "ab", "keys_accessrules"),
        ("/tools/datetime", {"enabled": "on"}, "price_nusd", "12", "gateway_toolsetting"),
    ],
    ids=["a row that others refer to", "no row yet"],
)
def test_one_of_two_who_save_at_once_is_told(
    gateway: GatewayServer, path: str, form: dict[str, str], field: str, values: str, table: str
) -> None:
    start = json.loads((gateway.home / "quickstart.json").read_text())
    people = [Visitor(gateway.port), Visitor(gateway.port)]
    for person in people:
        assert person.sign_in(start["email"], start["password"])
        person.get(path)
    seen = SEEN.search(people[0].text)
    assert seen is not None
    address = path if path.startswith("/tools") else people[0].workspace + path
    wishes = [{**form, "seen": seen[1], field: value} for value in values]

    with ThreadPoolExecutor(len(people)) as pool:
        with locked(gateway, table) as wait_for_both:
            answers = [
                pool.submit(person.post, address, wish)
                for person, wish in zip(people, wishes, strict=True)
            ]
            wait_for_both()
        statuses = [answer.result() for answer in answers]

    [stored] = select(gateway.home, f"SELECT {field} FROM {table}")
    assert sorted(statuses) == [302, 409]
    assert values[statuses.index(302)] in stored[0]
    assert "Someone else changed this" in people[statuses.index(409)].text
