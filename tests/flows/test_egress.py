"""The way out: whatever names an address, nobody inside is asked, and rules of workspaces hold."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.flows.caller import CHAT, Caller
from tests.flows.site import Site, running_site
from tests.support.canary import Canary, listening_canary
from tests.support.file_server import FileServer, serving_files
from tests.support.waiting import wait_until

Body = dict[str, Any]
MODEL = "sees-all"
CSV = b"a,b\n1,2\n"


def chat(block: Body) -> tuple[str, Body]:
    return CHAT, {"model": MODEL, "messages": [{"role": "user", "content": [block]}]}


def messages(block: Body) -> tuple[str, Body]:
    said = [{"role": "user", "content": [block]}]
    return "/v1/messages", {"model": MODEL, "max_tokens": 9, "messages": said}


def responses(block: Body) -> tuple[str, Body]:
    return "/v1/responses", {"model": MODEL, "input": [{"role": "user", "content": [block]}]}


# Everything in a request that may hold an address, by what it is.
SURFACES: dict[str, Callable[[str], tuple[str, Body]]] = {
    "image_url": lambda url: chat({"type": "image_url", "image_url": {"url": url}}),
    "image_url, a string": lambda url: chat({"type": "image_url", "image_url": url}),
    "file_url": lambda url: chat({"type": "file", "file": {"file_url": url}}),
    "file_url beside": lambda url: chat({"type": "file", "file_url": url}),
    "file_data": lambda url: chat({"type": "file", "file": {"filename": "a", "file_data": url}}),
    "audio": lambda url: chat(
        {"type": "input_audio", "input_audio": {"data": url, "format": "wav"}}
    ),
    "audio_url": lambda url: chat({"type": "audio_url", "audio_url": {"url": url}}),
    "image source": lambda url: messages({"type": "image", "source": {"type": "url", "url": url}}),
    "document source": lambda url: messages(
        {"type": "document", "source": {"type": "url", "url": url}}
    ),
    "image in a result": lambda url: messages(
        {
            "type": "tool_result",
            "tool_use_id": "a",
            "content": [{"type": "image", "source": {"type": "url", "url": url}}],
        }
    ),
    "input_image": lambda url: responses({"type": "input_image", "image_url": url}),
    "input_file": lambda url: responses({"type": "input_file", "file_url": url}),
    "moderations": lambda url: (
        "/v1/moderations",
        {"model": MODEL, "input": [{"type": "image_url", "image_url": {"url": url}}]},
    ),
    "api_base": lambda url: (CHAT, chat({"type": "text", "text": "a"})[1] | {"api_base": url}),
}


@pytest.fixture
def canary() -> Iterator[Canary]:
    with listening_canary() as listening:
        yield listening


def test_no_request_makes_anybody_connect_inside(site: Site, canary: Canary) -> None:
    site.add_model(MODEL)
    caller = site.caller()
    passed = []

    for name, write in SURFACES.items():
        for url in canary.urls():
            path, body = write(url)
            answer = caller.ask(path=path, raw=json.dumps(body).encode())
            if not 400 <= answer.status < 500:
                passed.append((name, url, answer.status, answer.body[:200]))

    assert passed == []
    assert canary.hits == []


def test_no_model_makes_anybody_connect_inside(site: Site, canary: Canary) -> None:
    caller = site.caller()

    for url in canary.urls():
        arguments = quote(json.dumps({"url": url}))
        for plugin in ("web_fetch", "pdf"):
            prompt = f"script:tools=1&args={arguments}"
            answer = caller.ask(prompt, plugins=[{"id": plugin}])
            assert answer.status == 200, answer.body

    assert canary.hits == []


def test_no_redirect_makes_anybody_connect_inside(files_site: Site, canary: Canary) -> None:
    files_site.add_model(MODEL)
    caller = files_site.caller()
    targets = iter(canary.urls())

    def serve(path: str) -> tuple[int, dict[str, str], bytes]:
        return 302, {"location": next(targets).encode("ascii", "replace").decode()}, b""

    with serving_files(serve) as open_door:
        for _ in canary.urls():
            path, body = SURFACES["file_url"](open_door.url("/door.csv"))
            assert caller.ask(path=path, raw=json.dumps(body).encode()).status == 400

    assert canary.hits == []


@pytest.fixture
def files() -> Iterator[FileServer]:
    with serving_files(lambda path: (200, {}, CSV)) as server:
        yield server


def test_rules_of_a_workspace_say_which_hosts_are_fetched_from(
    files_site: Site, files: FileServer
) -> None:
    files_site.add_model(MODEL)
    caller = files_site.caller()
    workspace_id = caller.workspace_id

    def ask(surface: str = "file_url") -> tuple[int, str]:
        path, body = SURFACES[surface](files.url("/a.csv"))
        answer = caller.ask(path=path, raw=json.dumps(body).encode())
        return answer.status, "" if answer.status == 200 else answer.error["message"]

    assert ask()[0] == 200
    files_site.office.do("access_rules", workspace_id=workspace_id, denied_hosts=["127.0.0.1"])
    wait_until(lambda: ask()[0] == 400, what="the denied host")
    refused = ask()
    fetched = len(files.requests)
    assert "do not allow this host" in refused[1]
    assert ask("image_url") == refused
    assert ask("image source") == refused

    files_site.office.do("access_rules", workspace_id=workspace_id, allowed_hosts=["*.example.com"])
    assert ask()[0] == 400
    assert len(files.requests) == fetched
    files_site.office.do("access_rules", workspace_id=workspace_id, allowed_hosts=["127.0.0.1"])
    wait_until(lambda: ask()[0] == 200, what="the allowed host")


@pytest.fixture(scope="module")
def counted_site(home_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A site that fetches two URLs a minute for a key, and is known by a name of its own."""
    home = Path(shutil.copytree(home_template, tmp_path_factory.mktemp("counted") / "home"))
    env = {
        "TOLLHOUSE_FETCH_ALLOWED_NETWORKS": "127.0.0.1/32",
        "TOLLHOUSE_FETCHES_PER_MINUTE": "2",
        "TOLLHOUSE_ALLOWED_HOSTS": "gateway.example",
    }
    with running_site(home, env) as site:
        site.add_model(MODEL)
        yield site


def read_file(caller: Caller, url: str) -> tuple[int, str]:
    path, body = SURFACES["file_url"](url)
    answer = caller.ask(path=path, raw=json.dumps(body).encode())
    return answer.status, "" if answer.status == 200 else answer.error["code"]


def test_a_key_fetches_so_many_urls_a_minute_and_no_more(
    counted_site: Site, files: FileServer
) -> None:
    caller = counted_site.caller()
    other = counted_site.another_key(caller.workspace_id)

    answers = [read_file(caller, files.url(f"/{number}.csv")) for number in range(4)]

    assert answers[:2] == [(200, "")] * 2
    assert (429, "rate_limit_exceeded") in answers
    assert len(files.requests) == [status for status, _ in answers].count(200)
    assert read_file(other, files.url("/other.csv")) == (200, "")


def test_nobody_has_the_gateway_fetch_from_itself(counted_site: Site) -> None:
    url = "https://gateway.example/v1/models"

    assert read_file(counted_site.caller(), url) == (400, "invalid_file")
