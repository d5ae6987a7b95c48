"""Thoughts of Claude on their way to callers and back, and how much it is asked to think."""

from __future__ import annotations

from typing import Any

import pytest

from tests.fakes.anthropic.dialect import CITATIONS, REDACTED, signature_of
from tests.flows.anthropic.asking import text
from tests.flows.anthropic.conftest import ADAPTIVE, OLD
from tests.flows.asking import LOOK_UP, sent
from tests.flows.caller import Answer, Caller
from tests.flows.transports import both_transports
from tests.flows.whole_message import BOTH, whole_details

FORMAT = "anthropic-claude-v1"
HARD: dict[str, Any] = {"reasoning_effort": "high", "max_tokens": 4096}
THOUGHT = "think0 think1 "
HIDDEN = {
    "type": "reasoning.encrypted",
    "data": REDACTED["data"],
    "format": FORMAT,
    "index": 0,
}
SIGNED = {
    "type": "reasoning.text",
    "text": THOUGHT,
    "signature": signature_of(THOUGHT),
    "format": FORMAT,
    "index": 1,
}
BLOCKS = [
    REDACTED,
    {"type": "thinking", "thinking": THOUGHT, "signature": signature_of(THOUGHT)},
]
QUESTION = {"role": "user", "content": "script:tools=2&reasoning=2&redacted"}


def deltas_of(answer: Answer) -> list[dict[str, Any]]:
    """Return what the first choice's message is put together from."""
    assert answer.status == 200, answer.body
    if not answer.headers["content-type"].startswith("text/event-stream"):
        return [answer.json["choices"][0]["message"]]
    return [chunk["choices"][0]["delta"] for chunk in answer.chunks if chunk["choices"]]


def entries_of(answer: Answer) -> list[dict[str, Any]]:
    """Return the entries as they came, a stream's in pieces."""
    return [entry for delta in deltas_of(answer) for entry in delta.get("reasoning_details", ())]


def loop(answer: Answer, **changes: Any) -> list[dict[str, Any]]:
    """Return the conversation with the answer, calls of tools, and their results."""
    calls: dict[int, dict[str, Any]] = {}
    for delta in deltas_of(answer):
        for place, piece in enumerate(delta.get("tool_calls") or ()):
            call = calls.setdefault(
                piece.get("index", place), {"type": "function", "arguments": ""}
            )
            call["id"] = piece.get("id", call.get("id"))
            call["name"] = piece["function"].get("name", call.get("name"))
            call["arguments"] += piece["function"].get("arguments", "")
    said = {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {
                "id": call["id"],
                "type": "function",
                "function": {"name": call["name"], "arguments": call["arguments"]},
            }
            for call in calls.values()
        ],
        "reasoning_details": entries_of(answer),
    }
    results = [
        {"role": "tool", "tool_call_id": call["id"], "content": "sun"} for call in calls.values()
    ]
    return [QUESTION, said | changes, *results]


def dropped(answer: Answer) -> str:
    assert answer.status == 200, answer.body
    return answer.headers.get("x-dropped-params", "")


@both_transports
@BOTH
def test_thoughts_come_signed(claude: Caller, stream: bool) -> None:
    answer = claude.ask("script:tokens=1&reasoning=2&redacted", stream=stream)

    assert whole_details(entries_of(answer)) == [HIDDEN, SIGNED]
    told = [delta.get("reasoning", "") for delta in deltas_of(answer)]
    assert "".join(told) == THOUGHT
    if stream:
        # Each piece stands in both, so that nobody has to read but one.
        assert all(
            [entry.get("text", "") for entry in delta["reasoning_details"]] == [delta["reasoning"]]
            for delta in deltas_of(answer)
            if "reasoning" in delta
        )


@both_transports
@BOTH
def test_thoughts_go_back_as_they_came(claude: Caller, stream: bool) -> None:
    first = claude.ask(messages=[QUESTION], tools=[LOOK_UP], stream=stream, **HARD)

    body = sent(claude, *loop(first), tools=[LOOK_UP], **HARD)

    assert body["messages"][1]["content"][:2] == BLOCKS
    assert [block["type"] for block in body["messages"][1]["content"][2:]] == ["tool_use"] * 2
    assert body["thinking"] == {"type": "enabled", "budget_tokens": 3276}
    assert dropped(claude.ask(messages=loop(first), tools=[LOOK_UP], **HARD)) == ""


def test_thoughts_of_several_turns_go_back(claude: Caller) -> None:
    said = {"role": "assistant", "content": "Yes", "reasoning_details": [SIGNED]}
    asked = {"role": "user", "content": "Well?"}

    body = sent(claude, asked, said | {"reasoning": THOUGHT}, asked, said, **HARD)

    turns = [turn["content"] for turn in body["messages"] if turn["role"] == "assistant"]
    assert turns == [[BLOCKS[1], text("Yes")]] * 2


def test_a_model_that_thinks_as_it_sees_fit_gets_its_thoughts(claude: Caller) -> None:
    mine = claude.with_(model=ADAPTIVE)
    first = mine.ask(messages=[QUESTION], tools=[LOOK_UP], reasoning_effort="high")

    body = sent(mine, *loop(first), tools=[LOOK_UP], reasoning_effort="high")

    assert body["messages"][1]["content"][:2] == BLOCKS
    assert body["thinking"] == {"type": "adaptive", "display": "summarized"}


def test_the_sdks_own_message_can_be_sent_back(claude: Caller) -> None:
    first = claude.ask(messages=[QUESTION], tools=[LOOK_UP], **HARD)
    message = first.json["choices"][0]["message"]
    results = [
        {"role": "tool", "tool_call_id": call["id"], "content": "sun"}
        for call in message["tool_calls"]
    ]

    body = sent(claude, QUESTION, message, *results, tools=[LOOK_UP], **HARD)

    assert body["messages"][1]["content"][:2] == BLOCKS


def test_without_the_thoughts_a_loop_goes_on_without_thinking(claude: Caller) -> None:
    first = claude.ask(messages=[QUESTION], tools=[LOOK_UP], **HARD)
    without = loop(first, reasoning_details=None)

    assert "thinking" not in sent(claude, *without, tools=[LOOK_UP], **HARD)
    assert dropped(claude.ask(messages=without, tools=[LOOK_UP], **HARD)) == "reasoning_effort"


@pytest.mark.parametrize("asked", [{}, HARD | {"tool_choice": "required"}], ids=["plain", "forced"])
def test_a_call_without_thinking_has_no_thoughts(claude: Caller, asked: dict[str, Any]) -> None:
    first = claude.ask(messages=[QUESTION], tools=[LOOK_UP], **HARD)

    body = sent(claude, *loop(first), tools=[LOOK_UP], **asked)

    assert [block["type"] for block in body["messages"][1]["content"]] == ["tool_use"] * 2
    named = dropped(claude.ask(messages=loop(first), tools=[LOOK_UP], **asked))
    assert "reasoning_details" in named.split(",")


@pytest.mark.parametrize(
    "detail",
    [
        SIGNED | {"format": "google-gemini-v1"},
        SIGNED | {"signature": None},
        HIDDEN | {"format": None},
        {"type": "reasoning.summary", "summary": "Thinks.", "format": FORMAT},
    ],
    ids=["format", "unsigned", "no format", "summary"],
)
def test_what_the_api_cannot_read_is_named(claude: Caller, detail: dict[str, Any]) -> None:
    said = {
        "role": "assistant",
        "content": "Yes",
        "reasoning_details": [detail | {"index": 5}, SIGNED],
    }
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Well?"}, said]

    body = sent(claude, *messages, **HARD)

    thoughts = [block for block in body["messages"][1]["content"] if block["type"] != "text"]
    assert thoughts in ([], [BLOCKS[1]])
    asked = [*messages, {"role": "user", "content": "Well?"}]
    assert dropped(claude.ask(messages=asked, **HARD)) == "reasoning_details"


def test_a_thought_that_was_changed_is_told_of(claude: Caller) -> None:
    changed = SIGNED | {"text": "Something else."}
    said = {"role": "assistant", "content": "Yes", "reasoning_details": [changed]}
    user = {"role": "user", "content": "Well?"}

    answer = claude.ask(messages=[user, said, user], **HARD)

    assert (answer.status, answer.error["code"]) == (400, "invalid_request")
    assert "Invalid `signature`" in answer.error["message"]


@pytest.mark.parametrize(
    ("reasoning", "thinking"),
    [
        ({"effort": "low"}, {"type": "enabled", "budget_tokens": 1024}),
        ({"max_tokens": 2000}, {"type": "enabled", "budget_tokens": 2000}),
        ({"max_tokens": 5}, {"type": "enabled", "budget_tokens": 1024}),
        ({"max_tokens": 9_999}, {"type": "enabled", "budget_tokens": 4095}),
        ({"enabled": True}, {"type": "enabled", "budget_tokens": 2048}),
        (
            {"effort": "medium", "exclude": True},
            {"type": "enabled", "budget_tokens": 2048, "display": "omitted"},
        ),
        ({"enabled": False, "effort": "high"}, None),
        ({"effort": "none"}, None),
        ({}, None),
        (None, None),
    ],
    ids=str,
)
def test_openrouters_reasoning_is_understood(
    claude: Caller, reasoning: dict[str, Any] | None, thinking: dict[str, Any] | None
) -> None:
    body = sent(claude, reasoning=reasoning, max_tokens=4096)

    assert body.get("thinking") == thinking
    assert dropped(claude.ask(reasoning=reasoning, max_tokens=4096)) == ""


@pytest.mark.parametrize(
    ("reasoning", "effort"),
    [({"effort": "max"}, "max"), ({"max_tokens": 100}, "low"), ({"max_tokens": 4000}, "high")],
    ids=str,
)
def test_openrouters_reasoning_is_an_effort_for_newer_models(
    claude: Caller, reasoning: dict[str, Any], effort: str
) -> None:
    body = sent(claude.with_(model=ADAPTIVE), reasoning=reasoning, max_tokens=4096)

    assert body["output_config"] == {"effort": effort}


@pytest.mark.parametrize(
    ("asked", "param"),
    [
        ({"reasoning": 7}, "reasoning"),
        ({"reasoning": {"effort": "extreme"}}, "reasoning.effort"),
        ({"reasoning": {"max_tokens": 0}}, "reasoning.max_tokens"),
        ({"reasoning": {"max_tokens": "many"}}, "reasoning"),
        ({"thinking": 7}, "thinking"),
        ({"thinking": {"type": "enabled", "budget_tokens": "many"}}, "thinking"),
    ],
    ids=str,
)
def test_what_makes_no_sense_is_refused(claude: Caller, asked: dict[str, Any], param: str) -> None:
    answer = claude.ask(**asked)

    assert (answer.status, answer.error["param"]) == (400, param), answer.body


def test_a_model_that_cannot_think_is_not_asked_to(claude: Caller) -> None:
    old = claude.with_(model=OLD)

    assert "thinking" not in sent(old, reasoning={"effort": "high"})
    assert dropped(old.ask(reasoning={"effort": "high"})) == "reasoning"


def test_the_apis_own_word_leaves_room_for_an_answer(claude: Caller) -> None:
    thinking = {"type": "enabled", "budget_tokens": 9000}

    assert sent(claude, thinking=thinking, max_tokens=3000)["thinking"]["budget_tokens"] == 2999
    assert "thinking" not in sent(claude, thinking=thinking, max_tokens=500)
    assert dropped(claude.ask(thinking=thinking, max_tokens=500)) == "thinking"


def test_thinking_can_be_turned_off(claude: Caller) -> None:
    body = sent(claude, thinking={"type": "disabled"}, temperature=0.5)

    assert (body["thinking"], body["temperature"]) == ({"type": "disabled"}, 0.5)


@BOTH
@pytest.mark.parametrize("kind", CITATIONS)
def test_citations_are_annotations(claude: Caller, kind: str, stream: bool) -> None:
    answer = claude.ask(f"script:tokens=2&cites={kind}", stream=stream)

    found = [each for delta in deltas_of(answer) for each in delta.get("annotations", ())]
    place = {"start_index": 0, "end_index": len("tok0 tok1 ")}
    cited = CITATIONS[kind]
    if kind == "web":
        page = {"url": cited["url"], "title": cited["title"]}
        assert found == [{"type": "url_citation", "url_citation": place | page}]
    else:
        known = {name: value for name, value in cited.items() if value is not None}
        assert found == [{"type": "file_citation", "file_citation": place | known}]


@BOTH
def test_an_answer_without_thoughts_has_no_details(claude: Caller, stream: bool) -> None:
    answer = claude.ask("script:tokens=2", stream=stream)

    names = set().union(*(delta.keys() for delta in deltas_of(answer)))
    assert not names & {"reasoning", "reasoning_details", "annotations"}
