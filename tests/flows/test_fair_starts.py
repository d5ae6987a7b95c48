"""Many requests that arrive at once begin in turns: a flood of one key is not before all others."""

from __future__ import annotations

import signal
from contextlib import ExitStack

from tests.corpus.wire import Line, request, with_key
from tests.flows.caller import Answer
from tests.flows.site import NUSD_PER_USD, Site

FLOOD = 200
HERE = "127.0.0.1"
HEALTH = request(line="GET /v1/health HTTP/1.1", key=None, body=b"")


def open_lines(stack: ExitStack, site: Site, count: int) -> list[Line]:
    """Return connections that the server has accepted, all from one address."""
    lines = [stack.enter_context(Line(site.gateway.port, HERE)) for _ in range(count)]
    for line in lines:
        line.send(HEALTH)
    for line in lines:
        assert line.listen(answers=1).answer.status == 200
    return lines


def answers_of(lines: list[Line]) -> list[Answer]:
    return [line.listen(answers=1).answer for line in lines]


def test_a_call_that_arrives_with_a_flood_of_another_key_is_among_the_first(site: Site) -> None:
    flooder = site.caller(credit_nusd=1_000 * NUSD_PER_USD)
    neighbour = site.caller()
    with ExitStack() as stack:
        flood, [quiet] = open_lines(stack, site, FLOOD), open_lines(stack, site, 1)

        site.gateway.process.send_signal(signal.SIGSTOP)
        try:
            for line in flood:
                line.send(with_key(request(), flooder.secret))
            quiet.send(with_key(request(), neighbour.secret))
        finally:
            site.gateway.process.send_signal(signal.SIGCONT)
        answers = answers_of([*flood, quiet])

    assert {answer.status for answer in answers} == {200}
    # Ids are given as calls begin, and sort by when that was.
    order = sorted(answer.call_id for answer in answers)
    assert order.index(answers[-1].call_id) < FLOOD // 2


def test_who_leaves_before_its_call_begins_disturbs_nobody(site: Site) -> None:
    flooder = site.caller(credit_nusd=1_000 * NUSD_PER_USD)
    with ExitStack() as stack:
        flood = open_lines(stack, site, FLOOD)

        site.gateway.process.send_signal(signal.SIGSTOP)
        try:
            for number, line in enumerate(flood):
                line.send(with_key(request(), flooder.secret))
                if number % 2:
                    line.reset()
        finally:
            site.gateway.process.send_signal(signal.SIGCONT)
        answers = answers_of(flood[::2])

    assert {answer.status for answer in answers} == {200}
    assert site.caller().ask().status == 200
    assert "Traceback" not in site.gateway.log.read_text()


def test_requests_of_one_connection_begin_in_their_order(site: Site) -> None:
    flooder = site.caller(credit_nusd=1_000 * NUSD_PER_USD)
    with ExitStack() as stack:
        flood = open_lines(stack, site, 40)
        for line in flood:
            line.send(with_key(request(), flooder.secret) + HEALTH)

        talks = [line.listen(answers=2).answers for line in flood]

    assert {tuple(answer.status for answer in answers) for answers in talks} == {(200, 200)}
    assert all("choices" in first.json and "choices" not in second.json for first, second in talks)
