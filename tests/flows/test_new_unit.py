"""A unit that is added by a row and a price column alone is metered, priced, shown and proved."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.conftest import add_fake_model
from tests.faults.calling import DATABASE, call
from tests.support.servers import UpstreamServer, run_manage, running_gateway

ENV = {"DJANGO_SETTINGS_MODULE": "tests.toys.unit.settings"}
USAGE = (
    '{"prompt_tokens":1000,"completion_tokens":10,'
    '"prompt_tokens_details":{"cached_tokens":100,"audio_tokens":300}}'
)


@pytest.fixture
def home_with_unit(home: Path) -> Path:
    """A home whose database has the price column of the unit."""
    done = run_manage(home, "prepare", "--json", env=ENV)
    assert done.returncode == 0, done.stderr
    return home


def test_a_unit_is_added_by_a_row_and_a_price_column(
    home_with_unit: Path, upstream: UpstreamServer
) -> None:
    home = home_with_unit
    with running_gateway(home, env=ENV) as server:
        add_fake_model(server, upstream)
        set_price = ("set_model", "fake-model", "--price", "toy_audio=32", "--json")
        priced = run_manage(home, *set_price, env=ENV)
        server.manage(  # once it is offered, the price before it applies too
            *("add_model", "after-the-price", "--provider", "fake", "--native", "fake"),
            *("--input", "1", "--output", "2", "--max-output", "100"),
        )
        answer = call(server, model="fake-model", prompt=f"script:usage=raw:{USAGE}")
        server.stop()

    proved = run_manage(home, "prove", "--json", env=ENV)
    with closing(sqlite3.connect(home / DATABASE)) as book:
        [(units, price_nusd)] = book.execute(
            "SELECT units, charge_nusd + absorbed_nusd FROM gateway_callrecord WHERE id = ?",
            [answer.call_id],
        )
    assert json.loads(priced.stdout)["toy_audio_pusd"] == 32_000_000
    assert answer.status == 200
    assert json.loads(units) == {"toy_audio": {"count": 300, "pusd": 32_000_000}}
    assert price_nusd == 700 * 1_000 + 300 * 32_000 + 10 * 2_000
    assert json.loads(proved.stdout)["breaks"] == []
