"""The clients, each connected to the shared gateway under either mount."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import certifi
import pytest
from openai import AsyncOpenAI, OpenAI

from tests.clients.battery import install
from tests.clients.sdk import outcome
from tests.support.servers import GatewayServer, UpstreamServer, run_manage

Book = Callable[[str], dict[str, Any]]


@pytest.fixture(scope="session")
def one_authority(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of one certificate authority."""
    end = "-----END CERTIFICATE-----\n"
    first, _, _ = certifi.contents().partition(end)
    file = tmp_path_factory.mktemp("authority") / "one.pem"
    file.write_text(first + end)
    return file


@pytest.fixture(autouse=True)
def little_to_read(one_authority: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each client begins with reading the authorities that it trusts. Here it needs none, and of
    all there are it would read for longer than its test takes."""
    monkeypatch.setenv("SSL_CERT_FILE", str(one_authority))


@pytest.fixture(params=["/v1", "/api/v1"])
def base_url(request: pytest.FixtureRequest, shared_gateway: GatewayServer) -> str:
    """The address a client is configured with, of either mount."""
    return f"{shared_gateway.origin}{request.param}"


@pytest.fixture(params=[OpenAI, AsyncOpenAI], ids=["sync", "async"])
async def client(
    request: pytest.FixtureRequest, base_url: str, shared_gateway: GatewayServer
) -> AsyncIterator[Any]:
    """An OpenAI or AsyncOpenAI that tries nothing twice."""
    made = request.param(api_key=shared_gateway.key, base_url=base_url, max_retries=0)
    yield made
    await outcome(made.close())


@dataclass(frozen=True)
class Keys:
    """Keys of their own workspaces, most of them good for less than everything."""

    poor: str  # its workspace has no money
    other_model: str  # may use the simulated model alone
    other_address: str  # may call from 203.0.113.0/24 alone
    other_scope: str  # good for reading usage alone
    locked: str  # its workspace is locked
    storing: str  # good for all; its workspace stores what is said


ISSUE = """
import json
from accounts.services import lock_workspace, set_stores_bodies
from tests.factories import make_key, make_workspace
rich = make_workspace("Clients", credit_nusd=10**9)
keys = {
    "poor": make_key(make_workspace("Poor clients")),
    "other_model": make_key(rich, allowed_models=["tollhouse/simulated"]),
    "other_address": make_key(rich, allowed_ips=["203.0.113.0/24"]),
    "other_scope": make_key(rich, scopes=["usage"]),
    "storing": make_key(kept := make_workspace("Storing clients", credit_nusd=10**9)),
    "locked": make_key(shut := make_workspace("Locked clients", credit_nusd=10**9)),
}
set_stores_bodies(kept, stores_bodies=True, actor="tests")
lock_workspace(shut, reason="Left open by nobody", actor="tests")
print(json.dumps({name: issued.secret for name, issued in keys.items()}))
"""


@pytest.fixture(scope="session")
def keys(shared_gateway: GatewayServer) -> Keys:
    """Issued in one process: a command for each would take its second to start."""
    done = run_manage(shared_gateway.home, "shell", "--no-imports", "--command", ISSUE)
    assert done.returncode == 0, done.stderr
    return Keys(**json.loads(done.stdout))


@pytest.fixture(scope="session")
def node() -> str:
    """The path of Node, with its clients installed."""
    return install()


@pytest.fixture
def witnessed(upstream: UpstreamServer) -> Book:
    """What the fake upstream wrote down of a call, by the id of its answer."""

    def find(response_id: str) -> dict[str, Any]:
        call_id = response_id.removeprefix("chatcmpl-")
        [entry] = [entry for entry in upstream.book() if entry["request_id"] == call_id]
        return entry

    return find
