"""SDKs for Node read calls whose model uses a tool of the gateway.

tests/clients/node/server_tools.js calls, this judges. Those for Python are in tests/flows/tools."""

from __future__ import annotations

import json
from dataclasses import asdict

import httpx
import pytest

from tests.clients.battery import Report, run_battery
from tests.clients.conftest import Keys
from tests.support.servers import GatewayServer, UpstreamServer

URL = "https://example.com/weather"
INDEX = [{"title": "Weather", "url": URL, "text": "The weather is fine."}]
WORDS = "".join(f"tok{n} " for n in range(10))
PROVIDERS = ("vercel chat", "vercel responses", "vercel messages", "vercel compatible")
ASKS = 200


@pytest.fixture(scope="module")
def report(
    node: str,
    shared_gateway: GatewayServer,
    upstream: UpstreamServer,
    keys: Keys,
    tmp_path_factory: pytest.TempPathFactory,
) -> Report:
    index = tmp_path_factory.mktemp("index") / "index.json"
    index.write_text(json.dumps(INDEX))
    shared_gateway.manage(
        "set_tool", "web_search", "--backend", "static", "--documents", str(index)
    )
    wait_for_search(shared_gateway)
    return run_battery(
        node,
        "server_tools.js",
        base_url=f"{shared_gateway.origin}/v1",
        book=f"{upstream.origin}/book",
        keys=asdict(keys) | {"good": shared_gateway.key},
    )


def wait_for_search(gateway: GatewayServer) -> None:
    """A change is seen within a second."""
    body = {"model": "fake-model", "messages": [{"role": "user", "content": "hello"}]}
    said = ""
    with httpx.Client(headers={"authorization": f"Bearer {gateway.key}"}) as client:
        for _ in range(ASKS):
            answer = client.post(
                f"{gateway.origin}/v1/chat/completions",
                json=body | {"plugins": [{"id": "web_search"}]},
            )
            if answer.status_code == httpx.codes.OK:
                return
            said = answer.text
    raise AssertionError(said)


def test_openais_sdk_reads_streams_with_tool_events(report: Report) -> None:
    chat, responses = report["chat"], report["responses"]

    assert (chat["text"], chat["finish"]) == (WORDS, "stop")
    assert (responses["text"], responses["cited"]) == (WORDS, [URL])
    assert responses["kinds"].count("keepalive") == 4
    assert responses["kinds"][-1] == "response.completed"
    assert report["created"] == {"text": WORDS, "events": 4}


def test_anthropics_sdk_reads_streams_with_tool_events(report: Report) -> None:
    seen = report["message"]

    assert seen["text"] == seen["whole"] == WORDS
    assert (seen["finish"], seen["cited"]) == ("end_turn", [URL])


@pytest.mark.parametrize("provider", PROVIDERS)
def test_vercels_sdk_reads_answers_and_streams(report: Report, provider: str) -> None:
    streamed, buffered = report[f"{provider} streamed"], report[f"{provider} buffered"]

    assert (streamed["text"], streamed["errors"]) == (WORDS, [])
    assert streamed["finish"] == "stop"
    assert buffered["text"] == WORDS
    if provider in ("vercel responses", "vercel messages"):
        assert streamed["cited"] == buffered["cited"] == [URL]
