"""What a second turn gives back, and how a call ends, over either kind of model."""

from __future__ import annotations

import json

import pytest

from gateway.core.reasoning import GOOGLE
from gateway.endpoints.messages.reasoning import Carried, read_carried, write_carried
from tests.flows.messages.asking import ECHO, Body, Messenger, message_of, text_of
from tests.flows.messages.conftest import PROMPTED
from tests.flows.site import INPUT_NUSD, OUTPUT_NUSD, Site

BOTH = pytest.mark.parametrize("stream", [False, True], ids=["buffered", "streamed"])
THINKING = {"type": "enabled", "budget_tokens": 1024}


@BOTH
def test_signed_thinking_goes_back_as_it_came(claude: Messenger, stream: bool) -> None:
    asked: Body = {"role": "user", "content": "script:tokens=1&reasoning=2"}
    first = message_of(
        claude.ask(messages=[asked], stream=stream, thinking=THINKING, max_tokens=2000)
    )
    thought = first["content"][0]
    assert (thought["type"], thought["thinking"]) == ("thinking", "think0 think1 ")
    assert thought["signature"]

    turns = [asked, {"role": "assistant", "content": first["content"]}]
    body = claude.echoed(*turns, thinking=THINKING, max_tokens=2000)

    assert body["messages"][1]["content"][0] == thought


def test_what_another_provider_signed_is_carried() -> None:
    carried = Carried("encrypted", GOOGLE, "call_1", "c2lnbmVk")

    assert read_carried(write_carried(carried)) == carried
    assert read_carried("c2lnbmVk") is None
    assert read_carried("tollhouse:no base64") is None


def test_unsigned_thinking_is_not_shown_to_claude(claude: Messenger) -> None:
    thought: Body = {"type": "thinking", "thinking": "Hm", "signature": ""}
    said = [thought, {"type": "text", "text": "Yes."}]
    turns: list[Body] = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": said}]

    body = claude.echoed(*turns)

    assert [block["type"] for block in body["messages"][1]["content"]] == ["text"]


@BOTH
def test_a_stop_sequence_is_named(claude: Messenger, stream: bool) -> None:
    prompt = "script:tokens=2&finish=stop_sequence"
    message = message_of(claude.ask(prompt, stream=stream, stop_sequences=["END"]))

    assert (message["stop_reason"], message["stop_sequence"]) == ("stop_sequence", "END")


@BOTH
def test_a_filtered_answer_is_a_refusal(other: Messenger, stream: bool) -> None:
    message = message_of(other.ask("script:tokens=2&finish=content_filter", stream=stream))

    assert message["stop_reason"] == "refusal"


@BOTH
def test_the_same_key_gets_the_same_answer(
    messages_site: Site, anyone: Messenger, stream: bool
) -> None:
    headers = {"idempotency-key": f"once-{anyone.key_id}"}
    first, second = (
        anyone.ask("script:tokens=3", stream=stream, headers=headers) for _ in range(2)
    )

    assert first.body == second.body
    assert second.headers["idempotent-replayed"] == "true"
    assert second.headers["request-id"] == first.headers["request-id"]
    assert len(messages_site.records(anyone)) == 1


def test_a_hang_up_costs_what_was_made(messages_site: Site, anyone: Messenger) -> None:
    with anyone.begin("script:endless&delay_ms=20", stream=True) as live:
        call_id = live.call_id
        for line in live.lines():
            if "tok3" in line:
                break
        live.leave()

    record = messages_site.record(call_id)
    assert record["status"] == "cancelled"
    assert record["charge_basis"] == "estimate"
    assert record["charge_nusd"] >= INPUT_NUSD + 3 * OUTPUT_NUSD


def test_records_name_the_endpoint(messages_site: Site, anyone: Messenger) -> None:
    answer = anyone.ask("script:tokens=1")

    path = f"/v1/generation?id={answer.json['id']}"
    messages_site.record(answer.call_id)
    found = anyone.ask(path=path, method="GET", raw=b"").json["data"]
    assert found["ingress_format"] == "anthropic_messages"


def test_text_reaches_models_of_each_dialect(anyone: Messenger) -> None:
    echoed = json.loads(text_of(message_of(anyone.ask(ECHO))))

    assert json.loads(echoed["body_text"])["messages"]


FOUND = {
    "type": "web_search_result",
    "title": "Weather",
    "url": "https://example.com/weather",
    "encrypted_content": "RW5jcnlwdGVk",
    "page_age": None,
}
SEARCHED: list[Body] = [
    {
        "type": "server_tool_use",
        "id": "srvtoolu_1",
        "name": "web_search",
        "input": {"query": "weather"},
    },
    {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [FOUND]},
]
RAN: list[Body] = [
    {
        "type": "server_tool_use",
        "id": "srvtoolu_2",
        "name": "bash_code_execution",
        "input": {"command": "date"},
    },
    {
        "type": "bash_code_execution_tool_result",
        "tool_use_id": "srvtoolu_2",
        "content": {
            "type": "bash_code_execution_result",
            "stdout": "Monday",
            "stderr": "",
            "return_code": 0,
            "content": [],
        },
    },
]


def searched(*blocks: Body) -> list[Body]:
    said: list[Body] = [
        {"type": "text", "text": "Let me see."},
        *blocks,
        {"type": "text", "text": "Sun."},
    ]
    return [{"role": "user", "content": "Weather?"}, {"role": "assistant", "content": said}]


def test_what_tools_of_anthropics_found_goes_back_to_it(claude: Messenger) -> None:
    turns = searched(*SEARCHED, *RAN)

    body = claude.echoed(*turns)

    assert body["messages"][:2] == turns


def test_others_are_told_of_it_in_words(other: Messenger) -> None:
    body = other.echoed(*searched(*SEARCHED, *RAN))

    said = body["messages"][1]["content"]
    assert said.startswith('Let me see.\n[web_search: {"query":"weather"}]\n')
    assert '"url":"https://example.com/weather"' in said
    assert "RW5jcnlwdGVk" not in said
    assert "Result of bash_code_execution" in said
    assert '"stdout":"Monday"' in said
    assert said.endswith("Sun.")
    answer = other.ask(messages=[*searched(*SEARCHED), {"role": "user", "content": "Hi"}])
    assert answer.headers["x-dropped-params"] == "messages.encrypted_content"
    plain = other.ask(messages=[*searched(*RAN), {"role": "user", "content": "Hi"}])
    assert "x-dropped-params" not in plain.headers


def test_a_model_with_a_prompt_of_its_own_is_told_in_words(
    messages_site: Site, claude: Messenger
) -> None:
    body = claude.with_(model=PROMPTED).echoed(*searched(*SEARCHED))

    [said] = body["messages"][1]["content"]
    assert "https://example.com/weather" in said["text"]


def test_the_provider_refuses_a_result_of_nothing(claude: Messenger) -> None:
    answer = claude.ask(messages=[*searched(SEARCHED[1]), {"role": "user", "content": "Hi"}])

    assert (answer.status, answer.error["code"]) == (400, "invalid_request")
    assert "corresponding `server_tool_use` block" in answer.error["message"]


def test_what_only_anthropic_can_read_counts_for_the_hold(
    messages_site: Site, claude: Messenger
) -> None:
    huge = FOUND | {"encrypted_content": "x7" * 200_000}
    long = [SEARCHED[0], SEARCHED[1] | {"content": [huge]}]
    poor = Messenger.of(messages_site.caller(credit_nusd=20_000_000).with_(model=claude.model))

    answer = poor.ask(messages=[*searched(*long), {"role": "user", "content": "Hi"}])

    assert (answer.status, answer.error["code"]) == (402, "insufficient_credits")


@pytest.mark.parametrize("content", [[], [{"type": "text", "text": " \n"}], " "])
def test_an_answer_without_a_word_is_left_out(claude: Messenger, content: object) -> None:
    turns: list[Body] = [
        {"role": "user", "content": "Weather?"},
        {"role": "assistant", "content": content},
    ]

    body = claude.echoed(*turns)

    [turn] = body["messages"]
    assert [block["text"] for block in turn["content"]] == ["Weather?", ECHO]
