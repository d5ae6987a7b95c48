"""POST /messages/count_tokens: counted here, for nothing."""

from __future__ import annotations

from typing import Any

import pytest
from anthropic import Anthropic

from tests.flows.anthropic.test_messages import PICTURES
from tests.flows.caller import Answer
from tests.flows.messages.asking import Messenger
from tests.flows.messages.test_requests import FORMAT, TOOL, source
from tests.flows.site import NUSD_PER_USD, Site

COUNT = "/v1/messages/count_tokens"
HELLO = {"role": "user", "content": "Say hello to everybody."}


def count(caller: Messenger, **members: Any) -> Answer:
    body: dict[str, Any] = {"max_tokens": None, "messages": [HELLO]} | members
    return caller.ask(path=COUNT, **body)


def tokens(caller: Messenger, **members: Any) -> int:
    answer = count(caller, **members)
    assert answer.status == 200, answer.body
    assert list(answer.json) == ["input_tokens"]
    return int(answer.json["input_tokens"])


def test_everything_that_a_model_reads_counts(anyone: Messenger) -> None:
    least = tokens(anyone)

    assert 5 <= least <= 20
    assert tokens(anyone, system="Be brief.") > least
    assert tokens(anyone, tools=[TOOL]) > least + 10
    picture = {"type": "image", "source": source("image/png", PICTURES["image/png"])}
    seen = [HELLO, {"role": "user", "content": [picture]}]
    assert tokens(anyone, messages=seen) > least + 50
    thinking = {"type": "enabled", "budget_tokens": 2000}
    assert tokens(anyone, thinking=thinking, max_tokens=10) == least


def test_nothing_is_charged_or_recorded(messages_site: Site, other: Messenger) -> None:
    answer = count(other)

    assert answer.headers["request-id"] == answer.call_id
    assert other.ask("script:tokens=1").status == 200
    assert len(messages_site.records(other)) == 1
    assert messages_site.balance_nusd(other) < NUSD_PER_USD


def test_a_count_is_a_request(messages_site: Site) -> None:
    hasty = Messenger.of(messages_site.limited_caller(max_requests_per_minute=2, burst=2))

    assert [count(hasty).status for _ in range(3)] == [200, 200, 429]
    assert count(hasty).error["type"] == "rate_limit_error"
    assert hasty.ask().status == 429


@pytest.mark.parametrize("path", [COUNT, "/v1/messages"])
@pytest.mark.parametrize(
    ("given", "param"),
    [
        ({"processers": []}, "inferada.processers"),
        ({"processors": ["nobody"]}, "inferada.processors[0]"),
        ({"language": 7}, "inferada.language"),
    ],
)
def test_processors_are_checked_as_in_a_message(
    anyone: Messenger, path: str, given: dict[str, Any], param: str
) -> None:
    answer = anyone.ask(path=path, inferada=given)

    assert (answer.status, answer.error["param"]) == (400, param)


def test_a_schema_counts_in_either_member(anyone: Messenger) -> None:
    least = tokens(anyone)

    assert tokens(anyone, output_config={"format": FORMAT}) > least
    assert tokens(anyone, output_format=FORMAT) == tokens(anyone, output_config={"format": FORMAT})


@pytest.mark.parametrize(
    ("members", "headers", "status", "kind"),
    [
        ({"messages": []}, {}, 400, "invalid_request_error"),
        ({"output_format": {"type": "json"}}, {}, 400, "invalid_request_error"),
        ({"model": "nobody"}, {}, 404, "not_found_error"),
        ({}, {"x-api-key": "sk-gw-nobody"}, 401, "authentication_error"),
    ],
)
def test_what_is_refused(
    other: Messenger, members: dict[str, Any], headers: dict[str, str], status: int, kind: str
) -> None:
    answer = count(other, headers=headers, **members)

    assert (answer.status, answer.error["type"]) == (status, kind)


def test_a_key_needs_the_scope_and_the_model(messages_site: Site) -> None:
    kept_out = Messenger.of(messages_site.caller(scopes=["files"]))
    assert count(kept_out).status == 403
    elsewhere = Messenger.of(messages_site.caller(allowed_models=["small-model"]))
    assert count(elsewhere).status == 403


def test_only_a_post_counts(other: Messenger) -> None:
    answer = other.ask(path=COUNT, method="GET", raw=b"")

    assert (answer.status, answer.headers["allow"]) == (405, "POST")
    assert answer.json["type"] == "error"


def test_the_sdk_counts(other: Messenger) -> None:
    client = Anthropic(base_url=f"http://127.0.0.1:{other.port}", api_key=other.secret)

    found = client.messages.count_tokens(
        model=other.model, messages=[{"role": "user", "content": "Hello"}]
    )

    assert found.input_tokens > 0
