"""No log line carries a credential, however it got into the message."""

from __future__ import annotations

import io
import logging
from typing import cast

import pytest

from gateway.config.logs import HideSecrets, OneLine, logging_config

SECRET = "sk-gw-abcDEF123456_-7890abcdefghijklmnopqrstuv"


@pytest.fixture
def output() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
def log(output: io.StringIO) -> logging.Logger:
    handler = logging.StreamHandler(output)
    handler.addFilter(HideSecrets())
    logger = logging.Logger("test")
    logger.addHandler(handler)
    return logger


@pytest.mark.parametrize(
    ("template", "argument"),
    [
        ("key %s", SECRET),
        ("headers %s", {"authorization": f"Bearer {SECRET}"}),
        ("sent Authorization: %s", "dG9rZW4gdGhhdCBsb29rcyBsaWtlIG5vdGhpbmc="),
        ("sent bearer %s", "xoxb.something.else"),
        ("x-api-key: %s", "anything at all"),
    ],
)
def test_what_looks_like_a_credential_is_hidden(
    log: logging.Logger, output: io.StringIO, template: str, argument: object
) -> None:
    log.error(template, argument)

    said = output.getvalue()
    assert "[hidden]" in said
    assert SECRET not in said
    assert str(argument).split()[0] not in said or isinstance(argument, dict)


def test_a_traceback_hides_it_too(log: logging.Logger, output: io.StringIO) -> None:
    try:
        raise ValueError(f"cannot use {SECRET}")
    except ValueError:
        log.exception("it failed")

    assert SECRET not in output.getvalue()
    assert "cannot use [hidden]" in output.getvalue()


def test_other_lines_stay_as_they_are(log: logging.Logger, output: io.StringIO) -> None:
    log.warning("reaped %d calls of %s", 3, "risk-free-process")

    assert output.getvalue() == "reaped 3 calls of risk-free-process\n"


def test_a_message_of_several_lines_is_one() -> None:
    formatters = cast(dict[str, dict[str, str]], logging_config("WARNING", "text")["formatters"])
    wanted = formatters["text"]
    assert wanted.pop("()") == "gateway.config.logs.OneLine"
    record = logging.LogRecord(
        "a", logging.ERROR, "", 0, "it failed:\n\tno\u2028answer\n", (), None
    )

    said = OneLine(**wanted).format(record)  # type: ignore[arg-type]

    assert said.endswith("ERROR a: it failed: no answer")
