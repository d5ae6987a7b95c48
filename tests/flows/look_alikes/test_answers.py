"""Answers of look-alikes in their own words: reasoning in the text, reasons to end, counts."""

from __future__ import annotations

import pytest

from tests.flows.look_alikes.conftest import LookAlikes
from tests.flows.site import INPUT_NUSD, OUTPUT_NUSD
from tests.flows.whole_message import message_of

BOTH = pytest.mark.parametrize("stream", [False, True], ids=["buffered", "streamed"])


@BOTH
@pytest.mark.parametrize(
    ("text", "content", "reasoning"),
    [
        ("<think>Hm. So.</think>Yes, it is.", "Yes, it is.", "Hm. So."),
        ("<think>Hm.", "", "Hm."),
        ("<think></think>Yes", "Yes", None),
        ("<thinker> Yes", "<thinker> Yes", None),
        ("Yes, <think>no</think>", "Yes, <think>no</think>", None),
        ("<thi", "<thi", None),
        ("<think>1 </thin 2</think>3", "3", "1 </thin 2"),
    ],
)
def test_reasoning_in_the_text_is_told_apart(
    look_alikes: LookAlikes, text: str, content: str, reasoning: str | None, stream: bool
) -> None:
    answer = look_alikes.caller("minimax").ask(f"script:text={text}", stream=stream)

    message = message_of(answer)
    assert (message["content"], message.get("reasoning")) == (content, reasoning)


@BOTH
def test_others_text_stays_as_it_is(look_alikes: LookAlikes, stream: bool) -> None:
    answer = look_alikes.caller("groq").ask("script:text=<think>a</think>b", stream=stream)

    assert message_of(answer)["content"] == "<think>a</think>b"


@BOTH
@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("model_length", "length"),
        ("model_context_window_exceeded", "length"),
        ("sensitive", "content_filter"),
    ],
)
def test_reasons_to_end_are_translated(
    look_alikes: LookAlikes, theirs: str, ours: str, stream: bool
) -> None:
    answer = look_alikes.caller("zai").ask(f"script:tokens=2&finish={theirs}", stream=stream)

    assert message_of(answer)["finish_reason"] == ours


@pytest.mark.parametrize("theirs", ["network_error", "insufficient_system_resource", "error"])
def test_a_provider_that_gave_up_has_failed(look_alikes: LookAlikes, theirs: str) -> None:
    caller = look_alikes.caller("deepseek")

    buffered = caller.ask(f"script:tokens=2&finish={theirs}")
    streamed = caller.stream(f"script:tokens=2&finish={theirs}")

    assert (buffered.status, buffered.error["code"]) == (502, "provider_unavailable")
    assert streamed.events[-2]["error"]["code"] == "provider_unavailable"
    assert look_alikes.site.record(streamed.call_id)["charge_nusd"] == 0


@BOTH
def test_reasoning_that_is_counted_apart_is_paid(look_alikes: LookAlikes, stream: bool) -> None:
    script = "script:tokens=2&reasoning=5&usage=apart"

    answer = look_alikes.caller("xai", "grok-4").ask(script, stream=stream)

    [entry] = look_alikes.site.tries(answer.call_id)
    record = look_alikes.site.record(answer.call_id)
    assert record["completion_tokens"] == entry["completion_tokens"] == 7
    assert record["charge_nusd"] == entry["prompt_tokens"] * INPUT_NUSD + 7 * OUTPUT_NUSD


@BOTH
@pytest.mark.parametrize("name", ["prompt_cache_hit_tokens", "cached_tokens"])
def test_cached_tokens_are_found_beside_the_counts(
    look_alikes: LookAlikes, name: str, stream: bool
) -> None:
    usage = f'{{"prompt_tokens":9,"completion_tokens":2,"total_tokens":11,"{name}":4}}'

    answer = look_alikes.caller("moonshot").ask(
        f"script:tokens=2&usage=raw:{usage}", stream=stream, stream_options={"include_usage": True}
    )

    shown = answer.chunks[-1]["usage"] if stream else answer.json["usage"]
    assert shown["prompt_tokens_details"]["cached_tokens"] == 4
