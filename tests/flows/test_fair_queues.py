"""Who waits for a concurrent request: keys take turns, and workspaces, whoever sends most."""

from __future__ import annotations

from collections.abc import Sequence
from select import select

import pytest

from tests.flows.caller import Answer, Caller, LiveCall
from tests.flows.site import Site
from tests.flows.test_admission import assert_refused
from tests.flows.test_concurrency_limits import ENDLESS, begin_waiting, let_in
from tests.flows.test_set_limits import set_limit
from tests.support.waiting import DEADLINE_S, wait_until

MAX_QUEUE = 100
COUNTED = {"max_requests_per_minute": 1, "burst": 1000}


@pytest.fixture
def keys(site: Site) -> tuple[Caller, Caller]:
    """Two keys of a workspace that may have one call running between them."""
    flooder = site.caller()
    limits = COUNTED | {"max_concurrent": 1}
    site.office.do("limit_workspace", workspace_id=flooder.workspace_id, **limits)
    neighbour = site.another_key(flooder.workspace_id)
    wait_until(
        lambda: "x-ratelimit-limit" in neighbour.ask(temperature=9).headers, what="the limits"
    )
    return flooder, neighbour


def begin_running(caller: Caller) -> LiveCall:
    call = caller.begin(ENDLESS, stream=True, max_tokens=5000)
    call.wait_for_tokens(1)
    return call


def in_order(site: Site, answers: Sequence[Answer]) -> list[str]:
    """Return what the answers say, in the order in which the upstream was asked for them."""
    began = {entry["request_id"]: entry["started_s"] for entry in site.upstream.book()}
    served = [answer for answer in answers if answer.status == 200]
    return [answer.text for answer in sorted(served, key=lambda answer: began[answer.call_id])]


def begin_named(caller: Caller, names: str) -> list[LiveCall]:
    """Return calls that wait, in this order, each answered with its name."""
    return [call for name in names.split() for call in begin_waiting(caller, text=name)]


def test_keys_of_a_workspace_take_turns(site: Site, keys: tuple[Caller, Caller]) -> None:
    flooder, neighbour = keys
    running = begin_running(flooder)
    waiting = begin_named(flooder, "f1 f2 f3 f4") + begin_named(neighbour, "n1 n2")

    running.leave()
    answers = [call.answer() for call in waiting]

    assert in_order(site, answers) == ["f1", "n1", "f2", "n2", "f3", "f4"]


def test_workspaces_take_turns_at_a_model(site: Site) -> None:
    model = site.add_model("shared-model")
    flooder = site.limited_caller(**COUNTED).with_(model=model)
    stranger = site.limited_caller(**COUNTED).with_(model=model)
    rule = set_limit(site, "--model", model, "--metric", "concurrent_requests", "--maximum", "1")
    site.add_model("later-model")  # the gateway hears of changes in their order
    running = begin_running(flooder)
    waiting = begin_named(flooder, "f1 f2 f3") + begin_named(stranger, "s1 s2")

    running.leave()
    answers = [call.answer() for call in waiting]
    site.office.do("command", name="remove_limit_rule", arguments=[rule["rule_id"]])

    assert in_order(site, answers) == ["f1", "s1", "f2", "s2", "f3"]


def test_a_key_that_fills_the_queue_makes_room_for_its_neighbour(
    site: Site, keys: tuple[Caller, Caller]
) -> None:
    flooder, neighbour = keys
    running = begin_running(flooder)
    flood = [flooder.begin("script:text=f", max_tokens=5) for _ in range(MAX_QUEUE)]
    wait_until(lambda: let_in(flooder) == MAX_QUEUE + 1, what="a full queue")
    assert_refused(flooder.ask(max_tokens=5), 429, "concurrency_limit_exceeded")

    with neighbour.begin("script:text=n", max_tokens=5) as waiting:
        answered, _, _ = select([call.socket for call in flood], [], [], DEADLINE_S)
        running.leave()
        answers = [call.answer() for call in (*flood, waiting)]

    assert len(answered) == 1  # before a call has ended
    refused = [answer for answer in answers[:-1] if answer.status != 200]
    assert len(refused) == 1
    assert_refused(refused[0], 429, "concurrency_limit_exceeded")
    assert "queue is full" in refused[0].error["message"]
    assert refused[0].headers["retry-after"] == "1"
    assert in_order(site, answers).index("n") == 1
