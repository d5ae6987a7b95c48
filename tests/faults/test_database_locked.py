"""Another program holds the database's write lock: who has to write is told so at once, and
everybody else is served."""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from email.message import Message
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

import pytest

from gateway.launch.seed import WORKSPACE
from tests.support.rows import count, locked_database
from tests.support.servers import GatewayServer, run_manage

AT_ONCE = 24


class Answer(NamedTuple):
    status: int
    headers: Message
    body: Any


def ask(
    server: GatewayServer, path: str = "/chat/completions", *, key: str, name: str = ""
) -> Answer:
    """Make a call, under an Idempotency-Key if one is named, or get another address."""
    body = {"model": server.model, "messages": [{"role": "user", "content": "Hello"}]}
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    request = urllib.request.Request(
        f"{server.base_url}{path}",
        data=json.dumps(body).encode() if path == "/chat/completions" else None,
        headers=headers | ({"Idempotency-Key": name} if name else {}),
    )
    try:
        with urllib.request.urlopen(request, timeout=15) as answer:
            return Answer(answer.status, answer.headers, json.load(answer))
    except urllib.error.HTTPError as refusal:
        return Answer(refusal.code, refusal.headers, json.load(refusal))


def test_a_form_is_not_kept_waiting_for_the_lock(gateway: GatewayServer, home: Path) -> None:
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    address = f"{gateway.origin}/sign-in"
    with opener.open(address, timeout=30) as page:
        token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page.read().decode())
    assert token is not None
    form = {"csrfmiddlewaretoken": token[1], "login": gateway.email, "password": gateway.password}

    with locked_database(home), pytest.raises(urllib.error.HTTPError) as refusal:
        opener.open(address, data=urlencode(form).encode(), timeout=15)

    assert refusal.value.code == 503
    assert refusal.value.headers["retry-after"] == "5"
    assert "The database is not answering" in refusal.value.read().decode()


def test_only_who_has_to_write_is_refused_and_nobody_waits_for_them(
    gateway: GatewayServer, home: Path
) -> None:
    unseen = gateway.manage("issue_key", WORKSPACE, "unseen")["secret"]
    assert ask(gateway, key=gateway.key).status == 200
    kept = ask(gateway, key=gateway.key, name="before")

    with ThreadPoolExecutor(AT_ONCE) as threads, locked_database(home):
        claims = [
            threads.submit(ask, gateway, key=gateway.key, name=f"during-{n}")
            for n in range(AT_ONCE)
        ]
        ordinary = [ask(gateway, key=gateway.key).status for _ in range(20)]
        cold = ask(gateway, key=unseen)
        pages = [ask(gateway, path, key=gateway.key).status for path in ("/models", "/health")]
        again = ask(gateway, key=gateway.key, name="before")
        refused = [claim.result() for claim in claims]

    assert ordinary == [200] * 20
    assert cold.status == 200
    assert pages == [200, 200]
    assert (again.status, again.headers["idempotent-replayed"]) == (200, "true")
    assert again.body == kept.body
    assert {answer.status for answer in refused} == {503}
    assert {answer.body["error"]["code"] for answer in refused} == {"database_unavailable"}
    assert all(int(answer.headers["retry-after"]) >= 1 for answer in refused)
    assert ask(gateway, key=gateway.key, name="during-0").status == 200
    gateway.stop()
    assert count(home, "gateway_callrecord WHERE status = 'ok'") == 24
    assert run_manage(home, "prove").returncode == 0
