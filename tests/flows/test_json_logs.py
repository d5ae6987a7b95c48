"""TOLLHOUSE_LOG_FORMAT=json: every line of a server process is one object, with nothing in it that
a line of text may not say."""

from __future__ import annotations

import json
import logging.config
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from gateway.config.log_limits import LINES
from gateway.config.logs import logging_config
from tests.flows.site import CREDENTIAL, Site, running_site
from tests.support.waiting import wait_until

ENV = {
    "TOLLHOUSE_LOG_FORMAT": "json",
    "TOLLHOUSE_LOG_LEVEL": "DEBUG",
    "TOLLHOUSE_ALLOWED_HOSTS": "*",
}
FIELDS = {"time", "level", "logger", "message"}


@pytest.fixture
def site(home: Path) -> Iterator[Site]:
    with running_site(home, env=ENV) as running:
        yield running


def lines_of(site: Site) -> list[dict[str, Any]]:
    return [json.loads(line) for line in site.gateway.log.read_text().splitlines()]


def test_every_line_is_an_object_and_names_the_call(site: Site) -> None:
    caller = site.caller()
    answer = caller.ask("script:status=401", max_tokens=5)

    def of_call() -> list[dict[str, Any]]:
        return [line for line in lines_of(site) if line.get("call_id") == answer.call_id]

    wait_until(of_call, what="a line about the call")
    lines = lines_of(site)
    assert all(line.keys() >= FIELDS for line in lines)
    assert any("TOLLHOUSE_ALLOWED_HOSTS" in line["message"] for line in lines)
    text = site.gateway.log.read_text()
    assert CREDENTIAL not in text
    assert caller.secret not in text


@pytest.fixture
def output() -> Iterator[StringIO]:
    """What is logged in this process, which logs as before when the test is over."""
    stream = StringIO()
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    config: Any = logging_config("WARNING", "json")
    config["handlers"]["stderr"]["stream"] = stream
    config["loggers"] = {}
    logging.config.dictConfig(config)
    yield stream
    root.handlers[:] = handlers
    root.setLevel(level)


def test_a_traceback_is_one_line_without_secrets(output: StringIO) -> None:
    try:
        raise ValueError("cannot use sk-gw-abcDEF123456_-7890\nat all")
    except ValueError:
        logging.getLogger("a").exception("It failed for %s", "Bearer abcdef", extra={"x": object()})

    [line] = output.getvalue().splitlines()
    shown = json.loads(line)
    assert shown["message"] == "It failed for [hidden]"
    assert "cannot use [hidden]\nat all" in shown["exception"]
    assert shown.keys() == FIELDS | {"exception"}


def test_a_refused_request_has_its_status(output: StringIO) -> None:
    logging.getLogger("a").warning("Not Found: /x", extra={"status_code": 404})

    assert json.loads(output.getvalue())["status"] == 404


def test_of_a_flood_a_few_lines_are_logged(output: StringIO) -> None:
    for number in range(3 * LINES):
        logging.getLogger("a").warning("again %s", number)

    assert len(output.getvalue().splitlines()) == LINES
