"""The background worker's queue: whoever looks at it sees whole files."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Empty
from typing import Any

import pytest
from kombu.connection import Connection

from gateway.celery import app

ROUNDS = 1_500


@pytest.fixture
def folders(tmp_path: Path) -> dict[str, str]:
    made = {name: tmp_path / name for name in ("queue", "control")}
    for folder in made.values():
        folder.mkdir()
    return {
        "data_folder_in": str(made["queue"]),
        "data_folder_out": str(made["queue"]),
        "control_folder": str(made["control"]),
    }


def channel(folders: dict[str, str]) -> Any:
    """Open the worker's transport, as Celery does, on these folders."""
    return Connection(app.conf.broker_url, transport_options=folders).default_channel


def test_a_table_is_whole_while_another_thread_makes_it(folders: dict[str, str]) -> None:
    def bind() -> None:
        writing = channel(folders)
        for number in range(ROUNDS):
            writing._queue_bind(f"exchange{number}", "key", "", "celery")

    with ThreadPoolExecutor() as threads:
        binding = threads.submit(bind)
        reading = channel(folders)
        for number in range(ROUNDS):
            while not reading.get_table(f"exchange{number}"):
                assert not binding.done() or binding.exception() is None

    assert reading.get_table("exchange7") == [("key", "", "celery")]


def test_every_message_arrives_whole_and_once(folders: dict[str, str], tmp_path: Path) -> None:
    def put() -> None:
        sending = channel(folders)
        for number in range(ROUNDS):
            sending._put("celery", {"number": number, "padding": "x" * 2_000})

    def get(sending: Any) -> list[int]:
        receiving, found = channel(folders), []
        while True:
            is_over = sending.done()
            try:
                found.append(receiving._get("celery")["number"])
            except Empty:
                if is_over:
                    return found

    with ThreadPoolExecutor() as threads:
        sending = threads.submit(put)
        takers = [threads.submit(get, sending) for _ in range(2)]
        found = [number for taker in takers for number in taker.result()]

    assert sorted(found) == list(range(ROUNDS))
    assert list((tmp_path / "queue").iterdir()) == []


def test_two_who_bind_at_once_are_both_bound(folders: dict[str, str]) -> None:
    def bind(name: str) -> None:
        mine = channel(folders)
        for number in range(50):
            mine._queue_bind("shared", "", "", f"{name}{number}")

    with ThreadPoolExecutor() as threads:
        for each in [threads.submit(bind, name) for name in "ab"]:
            each.result()

    table = channel(folders).get_table("shared")
    channel(folders)._delete("a7", "shared", "", "")

    assert {row.queue for row in table} == {f"{name}{n}" for name in "ab" for n in range(50)}
    assert "a7" not in {row.queue for row in channel(folders).get_table("shared")}
