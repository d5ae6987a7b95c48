"""Libraries that a server does not need, or not at once."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.flows.caller import Caller
from tests.support.servers import ROOT, GatewayServer, environment, running_gateway

# Loads what a server loads, and every view.
LOAD = """
import json, sys
import gateway.asgi
from django.urls import get_resolver

assert get_resolver().url_patterns and get_resolver("gateway.api.urls").url_patterns
names = ("psycopg", "requests", "rest_framework", "rest_framework.test", "drf_spectacular.openapi")
print(json.dumps([name for name in names if name in sys.modules]))

from gateway.api.openapi import document
assert document()["paths"]
print(json.dumps([name for name in names if name in sys.modules]))
"""


def loaded(home: Path) -> list[list[str]]:
    """Return which of the libraries are loaded once all of the application is, and then with the
    OpenAPI document."""
    done = subprocess.run(
        [sys.executable, "-c", LOAD],
        cwd=ROOT,
        env=environment(home),
        capture_output=True,
        text=True,
        check=True,
    )
    return [json.loads(line) for line in done.stdout.splitlines()[-2:]]


def is_mapped(server: GatewayServer, library: str) -> bool:
    """True when a shared library of this name is in the memory of the server process."""
    return library in Path(f"/proc/{server.process.pid}/maps").read_text()


def ask(server: GatewayServer) -> None:
    """Make a call, and ask a view of REST framework."""
    caller = Caller(server.port, server.key, "", "", server.model)
    assert caller.ask("Count to three.").status == 200
    listed = caller.ask(method="GET", path="/v1/models", raw=b"")
    assert (listed.status, listed.json["object"]) == (200, "list")


def test_a_server_on_sqlite_has_neither_psycopg_nor_requests(home: Path) -> None:
    with running_gateway(home) as server:
        ask(server)
        assert is_mapped(server, "sqlite")
        assert not is_mapped(server, "psycopg")

    at_first, with_document = loaded(home)
    assert at_first == ["rest_framework"]
    assert with_document == ["rest_framework", "rest_framework.test", "drf_spectacular.openapi"]


def test_a_server_on_postgresql_works_without_requests(postgresql_home: Path) -> None:
    with running_gateway(postgresql_home) as server:
        ask(server)

    at_first, _ = loaded(postgresql_home)
    assert at_first == ["psycopg", "rest_framework"]
