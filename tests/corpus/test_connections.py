"""The life of a connection under the guard, seen without a gateway behind it."""

from __future__ import annotations

import signal
import socket
import subprocess
from collections.abc import Iterator

import pytest

from gateway.launch.programs import server_command
from tests.corpus.oracle import assert_cut
from tests.corpus.wire import Line, request, talk
from tests.support.ports import free_port
from tests.support.servers import ROOT, STOP_S
from tests.support.waiting import wait_until

GATEWAY, GUARDED = "gateway.asgi:application", "tests.corpus.answering:application"
STOPPED = -signal.SIGTERM  # uvicorn ends by the signal that it has obeyed
EARLY = "POST /early HTTP/1.1"


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture(scope="module")
def process() -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """The product's server command with another application and little patience when idle."""
    port = free_port()
    command = [*server_command(host="127.0.0.1", port=port), "--timeout-keep-alive", "2"]
    command[command.index(GATEWAY)] = GUARDED
    with subprocess.Popen(command, cwd=ROOT) as child:
        wait_until(lambda: listens(port), what="the server to listen")
        yield child, port
        child.terminate()
        assert child.wait(STOP_S) == STOPPED


@pytest.fixture
def port(process: tuple[subprocess.Popen[bytes], int]) -> int:
    return process[1]


def test_a_connection_that_says_nothing_is_closed_without_a_word(port: int) -> None:
    silent = talk(port)

    assert (silent.answers, silent.rest, silent.is_closed) == ([], b"", True)


def test_a_connection_may_be_used_again_and_is_closed_when_it_is_not(port: int) -> None:
    with Line(port) as line:
        line.send(request())
        first = line.listen(answers=1).answer
        line.send(request())
        second = line.listen()

    assert (first.status, second.answer.status) == (200, 200)
    assert "connection" not in first.headers
    assert second.is_closed


def test_empty_lines_before_a_request_are_skipped_and_keep_nothing_open(port: int) -> None:
    skipped = talk(port, b"\r\n\r\n" + request(), answers=1)
    noise = talk(port, b"\r\n" * 50)

    assert skipped.answer.status == 200
    assert (noise.answers, noise.is_closed) == ([], True)


def test_what_follows_an_early_answer_is_never_a_request(port: int) -> None:
    """The rest of the body looks like one; whoever answers it has been tricked."""
    inner = request(line="POST /smuggled HTTP/1.1")
    head = request(f"Content-Length: {len(inner)}", line=EARLY, body=b"", sized=False)

    with Line(port) as line:
        line.send(head)
        early = line.listen(answers=1).answer
        line.send(inner * 2)
        after = line.listen()

    assert early.headers["connection"] == "close"
    assert (after.answers, after.rest, after.is_closed) == ([], b"", True)


def test_an_early_answer_reaches_a_caller_that_goes_on_sending(port: int) -> None:
    head = request("Content-Length: 8000000", line=EARLY, body=b"", sized=False)

    answered = talk(port, head, b" " * 8_000_000)

    assert answered.answer.status == 200


def test_a_whole_body_in_one_piece_with_its_head_keeps_the_connection(port: int) -> None:
    with Line(port) as line:
        for _ in range(3):
            line.send(request(line=EARLY))
            assert "connection" not in line.listen(answers=1).answer.headers


def test_a_body_in_its_own_piece_keeps_the_connection(port: int) -> None:
    raw = request(body=b" " * 100_000)

    with Line(port) as line:
        for _ in range(3):
            line.send(raw[:-50_000])
            line.send(raw[-50_000:])
            answer = line.listen(answers=1).answer
            assert (answer.json["size"], answer.headers.get("connection")) == (100_000, None)


def test_neither_trailers_nor_underscores_are_seen_by_an_application(port: int) -> None:
    body = b"2\r\n{}\r\n0\r\nX-Trailer: a\r\nHost: evil\r\n\r\n"
    raw = request(
        "Transfer-Encoding: chunked", "X_Header: a", "X-Header: b", body=body, sized=False
    )

    with Line(port) as line:
        line.send(raw[:-30])
        line.send(raw[-30:])
        seen = line.listen(answers=1).answer.json

    assert ["x-header", "b"] in seen["headers"]
    assert [name for name, _ in seen["headers"]].count("host") == 1
    assert {name for name, _ in seen["headers"]}.isdisjoint({"x-trailer", "x_header"})


def test_a_body_that_goes_wrong_after_an_early_answer_ends_the_connection(port: int) -> None:
    raw = request("Transfer-Encoding: chunked", line=EARLY, body=b"2\r\n{}\r\n", sized=False)

    with Line(port) as line:
        line.send(raw)
        line.listen(answers=1)
        line.send(b"rubbish\r\n")
        after = line.listen()

    assert (after.answers, after.is_closed) == ([], True)


def test_a_server_that_is_stopped_waits_for_nobody_who_lingers() -> None:
    port = free_port()
    command = server_command(host="127.0.0.1", port=port)
    command[command.index(GATEWAY)] = GUARDED
    with subprocess.Popen(command, cwd=ROOT) as child:
        wait_until(lambda: listens(port), what="the server to listen")
        with Line(port) as idle, Line(port) as lingering, Line(port) as unfinished:
            idle.send(request())
            idle.listen(answers=1)
            lingering.send(b"rubbish\r\n\r\n")
            lingering.listen()
            unfinished.send(b"GET / HTTP/1.1\r\nHost:")

            child.terminate()

            assert child.wait(STOP_S) == STOPPED


def test_a_refusal_is_read_by_a_caller_that_has_sent_too_much(port: int) -> None:
    for _ in range(20):
        answered = talk(port, request("X-A: " + "a" * 3_000_000))

        assert_cut(answered, 431, "headers_too_large")
