"""Mistral's SDK for Python: what it reads of answers that other clients read, too."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from mistralai.client import Mistral
from mistralai.client.models import (
    AssistantMessage,
    BaseModelCard,
    File,
    Function,
    SystemMessage,
    Tool,
    ToolMessage,
    UserMessage,
)

from tests.clients.python.cells import WEATHER
from tests.support.servers import GatewayServer

SIMULATED = "tollhouse/simulated"
TOOL = Tool(
    function=Function(
        name="get_weather",
        parameters={"type": "object", "properties": {"city": {"type": "string"}}},
    )
)


@pytest.fixture
def sdk(shared_gateway: GatewayServer) -> Iterator[Mistral]:
    with Mistral(api_key=shared_gateway.key, server_url=shared_gateway.origin) as client:
        yield client


def test_models_are_told_with_what_they_can(sdk: Mistral) -> None:
    models = {model.id: model for model in sdk.models.list().data or () if model.type == "base"}
    simulated = sdk.models.retrieve(model_id=SIMULATED)

    assert {"fake-model", SIMULATED} <= models.keys()
    assert isinstance(simulated, BaseModelCard)
    assert simulated == models[SIMULATED]
    capabilities = simulated.capabilities
    assert (capabilities.completion_chat, capabilities.function_calling) == (True, True)
    assert (capabilities.completion_fim, capabilities.audio_speech) == (False, False)


def test_a_stream_is_read(sdk: Mistral) -> None:
    with sdk.chat.stream(
        model="fake-model", messages=[UserMessage(content="script:tokens=3")]
    ) as stream:
        said = [event.data.choices[0].delta.content for event in stream]

    assert "".join(part for part in said if isinstance(part, str)) == "tok0 tok1 tok2 "


def test_a_tool_is_called_and_answers(sdk: Mistral) -> None:
    """The turn with the call has no content, which some programs send as an empty list."""
    asked = UserMessage(content="script:tools=1&text=Mild")
    first = sdk.chat.complete(model="fake-model", messages=[asked], tools=[TOOL])
    assert first.choices[0].message is not None
    calls = first.choices[0].message.tool_calls
    assert calls
    messages: list[UserMessage | AssistantMessage | ToolMessage | SystemMessage] = [
        asked,
        AssistantMessage(content=[], tool_calls=calls),
        ToolMessage(content=WEATHER, tool_call_id=calls[0].id),
    ]
    second = sdk.chat.complete(model="fake-model", messages=messages, tools=[TOOL])

    assert calls[0].function.name == "get_weather"
    assert second.choices[0].message is not None
    assert second.choices[0].message.content == "Mild"


def test_a_recording_is_transcribed(sdk: Mistral) -> None:
    file = File(file_name="a.wav", content=b"RIFF" * 100)
    answer = sdk.audio.transcriptions.complete(model=SIMULATED, file=file)

    assert answer.text.startswith("You sent a.wav")
    assert (answer.model, answer.language) == (SIMULATED, None)
