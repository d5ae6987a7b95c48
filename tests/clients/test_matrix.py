"""Every client of docs/clients.md sees what it should in every cell, over real sockets."""

from __future__ import annotations

import base64
import io
import json
import subprocess
from collections.abc import Mapping
from itertools import product
from typing import Any

import pytest
from PIL import Image

from gateway.core.profiles import BY_NAME
from gateway.endpoints.chat_completions.write import NOWHERE, place_usage
from tests.clients import battery, environments, page, snippets
from tests.clients.battery import Report, run_program
from tests.clients.matrix import CELLS, CLIENTS, IN_PROFILES, PROFILES, PROMPTS, Client
from tests.clients.snippets import BY_CLIENT
from tests.support.require import require_binary
from tests.support.servers import ROOT, GatewayServer

RUNNERS = {"js": ["node", "--input-type=module", "--eval"], "sh": ["sh", "-c"]}
GREETING = "Hello"  # the simulated model repeats what it is told
SIZE = (3, 2)
PLAIN_WORDS = [f"tok{n}" for n in range(5)]
USAGE = [1, 5]
# How the clients spell that the model called a tool.
CALLED = {"tool_calls", "tool-calls", "tool_call", "function_calls"}


def picture() -> str:
    """Return a picture as a data: URL."""
    file = io.BytesIO()
    Image.new("RGB", SIZE, "teal").save(file, "PNG")
    return f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"


def run_all(where: str, server: GatewayServer) -> Report:
    """Return what the clients of one environment saw."""
    told = {
        "BASE_URL": server.base_url,
        "KEY": server.key,
        "PICTURE": picture(),
        "PROMPTS": json.dumps(PROMPTS),
        "PROFILES": json.dumps(
            dict.fromkeys((c.name for c in CLIENTS[where] if tried(c)), PROFILES)
        ),
    }
    if where == "node":
        return run_program([battery.install(), "matrix.js"], battery.FOLDER, told)
    if where == "tests":
        require_binary("curl", package="curl")
    names = [client.name for client in CLIENTS[where]]
    own = [BY_CLIENT[name] for name in names if BY_CLIENT[name].language == "python"]
    told["SNIPPETS"] = json.dumps({s.client: s.at(server.base_url, server.key) for s in own})
    folder = None if where == "tests" else environments.install(where)
    command, env = environments.command_in(folder, "-m", "tests.clients.python", *names)
    return run_program(command, ROOT, env | told)


def tried(client: Client) -> bool:
    """True for a client that is tried under every profile."""
    return client.asks is not None


def is_plain(seen: Mapping[str, Any], usage: list[int] | None) -> bool:
    return (seen["text"].split(), seen["finish"], seen["usage"]) == (PLAIN_WORDS, "stop", usage)


def is_round_trip(seen: Mapping[str, Any]) -> bool:
    called = [["get_weather", {"city": "Paris"}]]
    return (seen["calls"], seen["finish"] in CALLED, seen["text"]) == (called, True, "Mild")


def is_failure(seen: Mapping[str, Any], has_note: bool) -> bool:
    is_told = has_note or seen["code"] == "provider_unavailable"
    return bool(seen["text"].split() == PLAIN_WORDS[:3] and seen["raised"] and is_told)


def has_picture(seen: Mapping[str, Any]) -> bool:
    """True when the provider got the picture: its answer says what it got."""
    received = json.loads(json.loads(seen["text"])["body_text"])
    [url] = [p["image_url"]["url"] for p in received["messages"][-1]["content"] if "image_url" in p]
    head, _, data = url.partition(",")
    with Image.open(io.BytesIO(base64.b64decode(data))) as found:
        return (head, found.size) == ("data:image/png;base64", SIZE)


def is_right(client: Client, cell: str, seen: Mapping[str, Any]) -> bool:
    """True when a client saw in a cell what it should have."""
    match cell:
        case "tools" | "tools streamed":
            return is_round_trip(seen)
        case "failure":
            return is_failure(seen, cell in client.notes)
        case "image":
            return has_picture(seen)
        case "usage declined":
            return is_plain(seen, None)
        case "streamed" if cell in client.notes:  # nobody asked, and the profile gives none
            return is_plain(seen, None)
    return is_plain(seen, USAGE)


def odd_in_profiles(client: Client, report: Report) -> dict[tuple[str, str], dict[str, Any]]:
    """Return what a client made of the streams of other profiles, where it is not right."""
    odd = {}
    for profile, cell in product(PROFILES if tried(client) else (), IN_PROFILES):
        seen = report.pop(f"{client.name}: {cell} in {profile}")
        asks = cell == "usage asked" or client.asks or None
        is_sent = place_usage(BY_NAME[profile].usage_mode, asks) != NOWHERE
        right = {"words": PLAIN_WORDS, "finish": "stop", "usage": USAGE if is_sent else None}
        found = {"words": seen["text"].split()} | {name: seen[name] for name in ("finish", "usage")}
        if wrong := {name: value for name, value in found.items() if value != right[name]}:
            odd[profile, cell] = wrong
    return odd


@pytest.mark.parametrize("where", CLIENTS)
def test_every_client_sees_what_it_should_in_every_cell(
    where: str, shared_gateway: GatewayServer
) -> None:
    report = run_all(where, shared_gateway)

    for client in CLIENTS[where]:
        assert report.pop(f"{client.name}: version") == client.version
        seen = {cell: report.pop(f"{client.name}: {cell}", None) for cell in CELLS}
        assert {cell for cell, found in seen.items() if not found} == set(client.missing)
        wrong = {c: s for c, s in seen.items() if s and not is_right(client, c, s)}
        assert wrong == {}, client.title
        assert odd_in_profiles(client, report) == client.odd
        if BY_CLIENT[client.name].language == "python":
            assert GREETING in report.pop(f"{client.name}: snippet")["text"]
    assert report == {}


@pytest.mark.parametrize("client", [s.client for s in snippets.ALL if s.language in RUNNERS])
def test_what_the_page_says_connects_a_client(client: str, shared_gateway: GatewayServer) -> None:
    """Those for Python are run with the clients, above."""
    snippet = BY_CLIENT[client]
    runner = RUNNERS[snippet.language]
    if snippet.language == "js":
        battery.install()

    done = subprocess.run(
        [*runner, snippet.at(shared_gateway.base_url, shared_gateway.key)],
        cwd=battery.FOLDER,
        capture_output=True,
        text=True,
        timeout=battery.RUN_S,
        check=False,
    )

    assert GREETING in done.stdout, done.stderr


def test_the_page_is_made_of_the_matrix() -> None:
    assert page.PAGE.read_text() == page.render(), "run `make fix`"
