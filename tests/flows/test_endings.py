"""How an answer ended, as its record says it: in our word and the provider's, and with what."""

from __future__ import annotations

import pytest

from tests.flows.caller import Caller
from tests.flows.site import Site

TOOLS = [{"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("theirs", "ours"), [("length", "length"), ("eos_token", "stop"), ("max_output", "stop")]
)
def test_the_provider_s_own_word_is_kept(
    site: Site, caller: Caller, theirs: str, ours: str, stream: bool
) -> None:
    answer = caller.ask(f"script:tokens=3&finish={theirs}", stream=stream)

    [record] = site.records(caller)
    assert answer.status == 200
    assert (record["finish_reason"], record["native_finish_reason"]) == (ours, theirs)
    assert record["num_tool_calls"] == 0


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("calls", [1, 3])
def test_tool_calls_are_counted(site: Site, caller: Caller, calls: int, stream: bool) -> None:
    caller.ask(f"script:tools={calls}", stream=stream, tools=TOOLS)

    [record] = site.records(caller)
    assert (record["finish_reason"], record["num_tool_calls"]) == ("tool_calls", calls)


def test_generation_says_so(site: Site, caller: Caller) -> None:
    answer = caller.ask("script:tools=2&finish=tool_use", tools=TOOLS)
    site.records(caller)

    said = caller.ask(path=f"/v1/generation?id={answer.call_id}", method="GET").json["data"]

    assert (said["native_finish_reason"], said["num_tool_calls"]) == ("tool_use", 2)
