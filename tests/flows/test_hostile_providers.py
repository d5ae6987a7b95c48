"""Providers that go on and on: each call is ended, costs nothing, and takes no other along."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.faults.flood.hostile_server import DRIPS, FLOODS
from tests.flows.caller import Answer
from tests.flows.site import Site
from tests.house.tree import ROOT
from tests.support.memory import peak_bytes

STREAMED = ["comments", "empty_deltas", "large_event"]
EITHER = ["interims", "one_byte_chunks", "endless_head", "gzip_bomb"]
BOMBS = 12


@pytest.fixture(scope="module")
def flooding() -> Iterator[str]:
    """The origin of a server whose every answer is a flood, named by the path."""
    command = [sys.executable, "-m", "tests.faults.flood.hostile_server"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        port = json.loads(server.stdout.readline())["port"]
        yield f"http://127.0.0.1:{port}"
        server.kill()


def serve_by(site: Site, origin: str, flood: str) -> str:
    """Return a model that this flood serves."""
    name = f"flood-{flood.replace('_', '-')}"
    if name not in site.gateway.offered():
        site.office.do("provider", name=name, base_url=f"{origin}/{flood}/v1")
        site.add_model(name, provider=name)
    return name


def assert_ended_for_free(site: Site, answer: Answer) -> None:
    # A busy machine may have begun the answer with a keep-alive.
    error = answer.error if answer.status == 502 else answer.chunks[-1]["error"]
    assert answer.status in (200, 502)
    assert error["code"] == "provider_unavailable"
    record = site.record(answer.call_id)
    assert (record["status"], record["charge_basis"]) == ("upstream_error", "zero_upstream")
    assert record["charge_nusd"] == 0


@pytest.mark.parametrize("flood", [*STREAMED, *EITHER])
def test_a_stream_of_nothing_is_ended(site: Site, flooding: str, flood: str) -> None:
    model = serve_by(site, flooding, flood)

    answer = site.caller().with_(model=model).ask(stream=True)

    assert_ended_for_free(site, answer)


@pytest.mark.parametrize("flood", ["comments", "empty_deltas"])
def test_a_stream_of_short_lines_is_ended_early(site: Site, flooding: str, flood: str) -> None:
    model = serve_by(site, flooding, flood)

    answer = site.caller().with_(model=model).ask(stream=True)

    assert "lines without output" in json.dumps([answer.error, *answer.chunks[-1:]])


@pytest.mark.parametrize("flood", [*EITHER, "large_answer"])
def test_an_answer_without_end_is_ended(site: Site, flooding: str, flood: str) -> None:
    model = serve_by(site, flooding, flood)

    answer = site.caller().with_(model=model).ask()

    assert_ended_for_free(site, answer)


def test_every_flood_is_tried() -> None:
    assert {*STREAMED, *EITHER, "large_answer"} <= set(FLOODS)


def test_large_answers_share_what_memory_there_is(site: Site, flooding: str) -> None:
    model = serve_by(site, flooding, "large_answer")
    caller = site.caller().with_(model=model)
    pid = site.gateway.process.pid
    caller.ask()
    before = peak_bytes(pid)

    async def ask_all() -> list[Answer]:
        return await asyncio.gather(*(asyncio.to_thread(caller.ask) for _ in range(BOMBS)))

    for answer in asyncio.run(ask_all()):
        assert_ended_for_free(site, answer)
    # Twelve of 64 MB, had each been read as far as one may be.
    assert peak_bytes(pid) - before < 250 * 2**20


@pytest.mark.parametrize("drip", DRIPS)
def test_what_is_no_output_is_not_waited_for_as_if_it_were(
    impatient_site: Site, flooding: str, drip: str
) -> None:
    model = serve_by(impatient_site, flooding, drip)

    answer = impatient_site.caller().with_(model=model).ask(stream=True)

    assert (answer.status, answer.error["code"]) == (504, "provider_timeout"), answer.body
    assert "no output" in answer.error["message"]
    assert impatient_site.record(answer.call_id)["charge_nusd"] == 0
