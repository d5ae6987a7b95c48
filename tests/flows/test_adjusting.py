"""An operator takes credit away that a server process has drawn and does not need."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from decimal import Decimal
from pathlib import Path

import pytest

from tests.flows.caller import Caller
from tests.flows.site import NUSD_PER_USD, Site, running_site
from tests.flows.test_catalogue import Visitor
from tests.support.waiting import wait_until

URL = "/credits/grant"


@pytest.fixture
def own_site(home: Path) -> Iterator[Site]:
    with running_site(home) as running:
        yield running


def wallet(home: Path) -> tuple[int, int]:
    """Return posted and drawn of the first workspace's wallet, in nano-USD."""
    with closing(sqlite3.connect(home / "tollhouse.sqlite3")) as database:
        posted, drawn = database.execute(
            "SELECT posted_nusd, drawn_nusd FROM accounts_wallet"
        ).fetchone()
    return posted, drawn


def test_the_whole_balance_can_be_taken_while_a_process_has_drawn_some(
    own_site: Site, home: Path
) -> None:
    visitor = Visitor(own_site)
    caller = Caller(own_site.gateway.port, own_site.gateway.key, "", "")
    caller.ask("script:tokens=5", max_tokens=1_000)
    wait_until(lambda: wallet(home)[0] < 10 * NUSD_PER_USD, what="the call to be posted")
    posted, drawn = wallet(home)
    token = re.search(r'name="token" value="([^"]+)"', visitor.get(URL))
    assert token

    page = visitor.post(
        URL, amount=f"-{Decimal(posted) / NUSD_PER_USD}", reason="All of it", token=token[1]
    )

    assert drawn > 0
    assert "posted as entry" in page
    assert wallet(home) == (0, 0)
    assert caller.ask("script:tokens=5", max_tokens=1_000).error["code"] == "insufficient_credits"
