"""What is refused, and how: every refusal names the member at fault."""

from __future__ import annotations

from typing import Any

import pytest

from tests.flows.caller import Caller
from tests.flows.completions.asking import complete, texts, upstream_text
from tests.flows.completions.conftest import CHAT, CLAUDE
from tests.flows.site import Site

REFUSED: dict[str, tuple[dict[str, Any], str | None]] = {
    "no prompt": ({"prompt": None}, "prompt"),
    "empty text": ({"prompt": ""}, "prompt"),
    "no prompts": ({"prompt": []}, "prompt"),
    "one empty text": ({"prompt": ["a", ""]}, "prompt[1]"),
    "a negative token": ({"prompt": [1, -1]}, "prompt[1]"),
    "texts and tokens": ({"prompt": ["a", 1]}, "prompt[1]"),
    "too many prompts": ({"prompt": ["a"] * 257}, "prompt"),
    "too many completions": ({"prompt": ["a"] * 65, "n": 2}, "n"),
    "too many candidates": ({"prompt": ["a"] * 65, "best_of": 2}, "best_of"),
    "a best of fewer": ({"n": 3, "best_of": 2}, "best_of"),
    "the best in a stream": ({"best_of": 2, "stream": True}, "best_of"),
    "an echo in a stream": ({"echo": True, "stream": True}, "echo"),
    "no output": ({"max_tokens": 0}, "max_tokens"),
    "too many log probabilities": ({"logprobs": 21}, "logprobs"),
    "log probabilities as for chat": ({"logprobs": True}, "logprobs"),
    "a hot temperature": ({"temperature": 3}, "temperature"),
    "too many stops": ({"stop": ["a"] * 5}, "stop"),
    "processors": ({"inferada": {"processors": ["redact"]}}, "inferada"),
    "another address": ({"base_url": "http://127.0.0.1"}, "base_url"),
    "a field denied": ({"x": 1, "tensorzero::deny_unknown_fields": True}, "x"),
}
NOT_FOR_CHAT: dict[str, tuple[dict[str, Any], str]] = {
    "a suffix": ({"suffix": "end"}, "suffix"),
    "an echo": ({"echo": True}, "echo"),
    "log probabilities": ({"logprobs": 0}, "logprobs"),
    "the best of several": ({"best_of": 2}, "best_of"),
    "several prompts": ({"prompt": ["a", "b"]}, "prompt"),
    "tokens": ({"prompt": [1, 2]}, "prompt"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_makes_no_sense_is_the_callers_fault(site: Site, caller: Caller, case: str) -> None:
    members, param = REFUSED[case]

    answer = complete(caller, **({"prompt": "hello"} | members))

    assert answer.status == 400
    assert answer.error["param"] == param
    assert answer.error["message"]
    assert site.records(caller)[0]["charge_nusd"] == 0


@pytest.mark.parametrize("model", [CHAT, CLAUDE])
@pytest.mark.parametrize("case", NOT_FOR_CHAT)
def test_what_a_chat_cannot_be_told_is_refused(caller: Caller, case: str, model: str) -> None:
    members, param = NOT_FOR_CHAT[case]

    answer = complete(caller.with_(model=model), **({"prompt": "hello"} | members))

    assert (answer.status, answer.error["param"]) == (400, param)
    assert answer.error["code"] == "unsupported_parameter"


def test_what_asks_for_nothing_of_it_is_taken(caller: Caller) -> None:
    off: dict[str, Any] = {"suffix": None, "echo": False, "logprobs": None, "best_of": 1, "n": 1}

    assert texts(complete(caller.with_(model=CHAT), ["script:tokens=2"], **off, max_tokens=9)) == [
        upstream_text(2)
    ]


def test_several_choices_are_refused_where_the_provider_has_one(caller: Caller) -> None:
    answer = complete(caller.with_(model=CLAUDE), "hello", n=2)

    assert (answer.status, answer.error["param"]) == (400, "n")


def test_a_model_for_texts_does_not_chat(caller: Caller) -> None:
    answer = caller.ask("hello")

    assert (answer.status, answer.error["code"]) == (400, "endpoint_not_supported_by_model")


def test_a_model_for_embeddings_completes_nothing(site: Site, caller: Caller) -> None:
    model = site.add_model("no-texts", operation="embeddings")

    answer = complete(caller.with_(model=model), "hello")

    assert (answer.status, answer.error["code"]) == (400, "endpoint_not_supported_by_model")


def test_a_prompt_beyond_the_context_is_refused(site: Site, caller: Caller) -> None:
    model = site.add_model("short-completer", context_tokens=8, operation="completions")

    too_long = complete(caller.with_(model=model), ["short", "word " * 9])
    with_output = complete(caller.with_(model=model), "word " * 5, max_tokens=4)

    assert (too_long.error["code"], too_long.error["param"]) == (
        "context_length_exceeded",
        "prompt[1]",
    )
    assert (with_output.error["code"], with_output.error["param"]) == (
        "context_length_exceeded",
        "prompt",
    )


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(("status", "told"), [(400, 400), (401, 502), (429, 429), (500, 502)])
def test_a_providers_refusal_is_told_as_for_chat(
    caller: Caller, status: int, told: int, stream: bool
) -> None:
    answer = complete(caller, f"script:fail={status}&message=No", stream=stream)

    assert answer.status == told
    assert answer.error["message"]


@pytest.mark.parametrize("fault", ["reset_after=3", "truncate_after=3", "error_after=3"])
def test_a_stream_that_breaks_ends_in_an_error_and_is_free(
    site: Site, caller: Caller, fault: str
) -> None:
    answer = complete(caller, f"script:{fault}", stream=True, max_tokens=9)

    assert "error" in answer.chunks[-1]
    assert answer.frames[-1] == "data: [DONE]"
    record = site.record(answer.call_id)
    assert (record["charge_nusd"], record["charge_basis"]) == (0, "zero_upstream")


@pytest.mark.parametrize("fault", ["truncate", "reset_at_byte=20", "drop=close"])
def test_what_is_no_answer_is_the_providers_fault_and_free(
    site: Site, caller: Caller, fault: str
) -> None:
    answer = complete(caller, f"script:{fault}", max_tokens=9)

    assert (answer.status, answer.error["code"]) == (502, "provider_unavailable")
    assert site.record(answer.call_id)["charge_nusd"] == 0


def test_nothing_is_logged_as_our_fault(site: Site) -> None:
    assert "Traceback" not in site.gateway.log.read_text()
