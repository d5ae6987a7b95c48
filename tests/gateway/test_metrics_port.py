"""The port for metrics is waited for, and the log says so unless it was expected to be in use."""

from __future__ import annotations

import socket
import urllib.request

import pytest

from gateway.metrics.exposition import MetricsListener, Token
from tests.support.waiting import wait_until


def render(accept: str) -> tuple[bytes, str]:
    return b"tollhouse_ready 1\n", "text/plain"


def answers(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
            return bool(answer.read() == render("")[0])
    except OSError:
        return False


@pytest.mark.parametrize("patience_s", [0, 3600])
def test_a_port_in_use_is_served_once_it_is_free(
    caplog: pytest.LogCaptureFixture, patience_s: float
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        listener = MetricsListener("127.0.0.1", port, render, Token(""), patience_s=patience_s)
        listener.start()
        if not patience_s:
            wait_until(lambda: "Metrics cannot be served" in caplog.text, what="a line in the log")
    wait_until(lambda: answers(port), what="the metrics")
    listener.stop()

    assert ("Address already in use" in caplog.text) == (not patience_s)
    assert "Errno" not in caplog.text


def test_a_host_that_is_none_is_named(caplog: pytest.LogCaptureFixture) -> None:
    listener = MetricsListener("no.such.host.invalid", 1, render, Token(""), patience_s=3600)

    listener.start()
    wait_until(lambda: "TOLLHOUSE_METRICS_HOST" in caplog.text, what="a line in the log")
    listener.stop()

    assert "at no.such.host.invalid:1" in caplog.text
