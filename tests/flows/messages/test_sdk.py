"""The anthropic SDK, unmodified, against models of each dialect."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import anthropic
import pytest
from anthropic import Anthropic

from tests.flows.messages.asking import Messenger

TOOL: Any = {
    "name": "look_up",
    "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}},
}


ClientOf = Callable[[Messenger], Anthropic]


@pytest.fixture
def client_of() -> Iterator[ClientOf]:
    """Opens clients, and closes them at the end."""
    with ExitStack() as opened:

        def open_client(caller: Messenger) -> Anthropic:
            address = f"http://127.0.0.1:{caller.port}"
            client = Anthropic(base_url=address, api_key=caller.secret, max_retries=0)
            return opened.enter_context(client)

        yield open_client


def said(prompt: str) -> Any:
    return [{"role": "user", "content": prompt}]


def test_a_message(client_of: ClientOf, anyone: Messenger) -> None:
    message = client_of(anyone).messages.create(
        model=anyone.model, max_tokens=50, messages=said("script:tokens=3")
    )

    assert [block.type for block in message.content] == ["text"]
    assert message.stop_reason == "end_turn"
    assert message.usage.output_tokens == 3
    assert message._request_id == message.id.removeprefix("msg_")


def test_a_stream_is_put_together(client_of: ClientOf, anyone: Messenger) -> None:
    with client_of(anyone).messages.stream(
        model=anyone.model, max_tokens=50, messages=said("script:tokens=3&reasoning=2")
    ) as stream:
        texts = list(stream.text_stream)
        message = stream.get_final_message()

    assert "".join(texts) == "tok0 tok1 tok2 "
    assert [block.type for block in message.content] == ["thinking", "text"]
    assert message.usage.output_tokens == 5


def test_a_round_trip_of_a_tool(client_of: ClientOf, anyone: Messenger) -> None:
    client = client_of(anyone)
    turns = said("script:tools=1")
    with client.messages.stream(
        model=anyone.model, max_tokens=50, messages=turns, tools=[TOOL]
    ) as stream:
        first = stream.get_final_message()
    call = next(block for block in first.content if block.type == "tool_use")
    assert call.input == {"city": "Paris"}
    result = {"type": "tool_result", "tool_use_id": call.id, "content": "sun"}
    turns += [
        {"role": "assistant", "content": first.content},
        {"role": "user", "content": [result]},
    ]

    second = client.messages.create(model=anyone.model, max_tokens=50, messages=turns, tools=[TOOL])

    assert second.stop_reason == "end_turn"


def test_errors_are_the_sdks_own(client_of: ClientOf, anyone: Messenger) -> None:
    client = client_of(anyone)
    with pytest.raises(anthropic.NotFoundError) as missing:
        client.messages.create(model="nobody", max_tokens=5, messages=said("hi"))
    assert missing.value.request_id
    with pytest.raises(anthropic.RateLimitError):
        client.messages.create(model=anyone.model, max_tokens=5, messages=said("script:fail=429"))
    with pytest.raises(anthropic.AuthenticationError):
        client_of(anyone.with_(secret="sk-gw-nobody")).messages.create(
            model=anyone.model, max_tokens=5, messages=said("hi")
        )
    with (
        pytest.raises(anthropic.APIStatusError),
        client.messages.stream(
            model=anyone.model, max_tokens=50, messages=said("script:tokens=9&reset_after=2")
        ) as stream,
    ):
        stream.until_done()


def test_models_are_listed_page_by_page(client_of: ClientOf, anyone: Messenger) -> None:
    client = client_of(anyone)

    every = [model.id for model in client.models.list(limit=1000)]
    paged = [model.id for model in client.models.list(limit=2)]
    first = client.models.list(limit=2)
    second = first.get_next_page()
    back = client.models.list(limit=2, before_id=second.first_id or "")

    assert anyone.model in every
    assert paged == every
    assert (first.has_more, first.first_id, first.last_id) == (True, every[0], every[1])
    assert [model.id for model in back.data] == every[:2]
    assert list(client.models.list(lifecycle=["retired"])) == []
    assert first._request_id


def test_a_model_is_described(client_of: ClientOf, anyone: Messenger) -> None:
    client = client_of(anyone)

    model = client.models.retrieve(anyone.model)

    assert (model.type, model.id, model.lifecycle) == ("model", anyone.model, "active")
    assert model.display_name
    assert model.created_at.year >= 2020
    assert (model.max_tokens or 0) > 0
    with pytest.raises(anthropic.NotFoundError) as missing:
        client.models.retrieve("no-such-model")
    with pytest.raises(anthropic.BadRequestError) as wrong:
        client.models.list(after_id="no-such-model")
    assert missing.value.response.headers["request-id"]
    assert isinstance(missing.value.body, dict)
    assert missing.value.body["error"]["type"] == "not_found_error"
    assert isinstance(wrong.value.body, dict)
    assert wrong.value.body["error"]["param"] == "after_id"
