"""The database's file is moved away under a running server, and comes back."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from pathlib import Path

from gateway.launch.seed import WORKSPACE
from tests.support.servers import GatewayServer, run_manage
from tests.support.waiting import wait_until


def call(server: GatewayServer, key: str) -> int:
    """Make a call; return its status."""
    body = {"model": server.model, "messages": [{"role": "user", "content": "Hello"}]}
    request = urllib.request.Request(
        f"{server.base_url}/chat/completions",
        data=json.dumps(body).encode(),
        headers={"Authorization": f"Bearer {key}", "Content-Type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as refusal:
        return refusal.code


def test_nobody_makes_a_new_database_in_the_place_of_one_that_is_away(
    gateway: GatewayServer, home: Path
) -> None:
    unseen = gateway.manage("issue_key", WORKSPACE, "unseen")["secret"]
    file, elsewhere = home / "tollhouse.sqlite3", home / "elsewhere.sqlite3"
    assert call(gateway, gateway.key) == 200

    file.rename(elsewhere)
    statuses = [call(gateway, gateway.key) for _ in range(20)]
    unknown = call(gateway, unseen)
    failed = run_manage(home, "prove")
    was_made_anew = file.exists()
    elsewhere.rename(file)

    assert set(statuses) == {200}
    assert unknown == 503
    assert failed.returncode != 0
    assert not was_made_anew
    wait_until(lambda: call(gateway, unseen) == 200, what="the database to be found again")
    gateway.stop()
    proof = json.loads(run_manage(home, "prove", "--json").stdout)
    assert proof["breaks"] == []
    assert proof["calls"] >= 22
