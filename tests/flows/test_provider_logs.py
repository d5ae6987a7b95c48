"""What is written to the log of what a provider says: nothing of it, unless for debugging."""

from __future__ import annotations

import urllib.parse
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.flows.site import CREDENTIAL, Site, running_site
from tests.support.waiting import wait_until

SAID = "the prompt was about elephants"
SCRIPTS = [
    *(f"fail={status}" for status in (400, 401, 429, 500)),
    "error_after=1",
    "plant=elephants, and no JSON",
]


@pytest.fixture
def talkative(home: Path) -> Iterator[Site]:
    with running_site(home, {"TOLLHOUSE_LOG_LEVEL": "DEBUG"}) as running:
        yield running


def test_what_a_provider_says_is_logged_for_debugging_alone(talkative: Site) -> None:
    caller = talkative.caller()
    message = urllib.parse.quote(f"{SAID}, sent with {CREDENTIAL[3:]}")

    answers = [
        caller.ask(f"script:{script}&message={message}", stream=stream)
        for script in SCRIPTS
        for stream in (False, True)
    ]

    def read_log() -> str:
        log = talkative.gateway.log.read_text()
        return log if answers[-1].call_id in log else ""

    log = wait_until(read_log, what="the last call to be logged")
    lines = [line for line in log.splitlines() if "elephants" in line]
    assert lines
    assert all(" DEBUG " in line for line in lines)
    assert CREDENTIAL[3:] not in log
    assert CREDENTIAL[3:11] not in log
