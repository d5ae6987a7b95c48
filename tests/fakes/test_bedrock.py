"""The fake Bedrock and SageMaker answer AWS's own SDK, and refuse what the services refuse."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import botocore.session
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError, EventStreamError

from tests.fakes.asking import script
from tests.fakes.bedrock.serving import REGION
from tests.fakes.bedrock.signatures import ACCESS_KEY_ID, SECRET_ACCESS_KEY
from tests.support.servers import UpstreamServer

MODEL = "eu.anthropic.claude-haiku-4-5-20251001-v1:0"


def client_of(upstream: UpstreamServer, service: str, path: str, **keys: str) -> Any:
    session = botocore.session.Session()
    return session.create_client(
        service,
        region_name=REGION,
        endpoint_url=f"{upstream.origin}{path}",
        aws_access_key_id=keys.get("key", ACCESS_KEY_ID),
        aws_secret_access_key=keys.get("secret", SECRET_ACCESS_KEY),
        config=Config(retries={"max_attempts": 0}),
    )


@pytest.fixture(scope="module")
def bedrock(upstream: UpstreamServer) -> Iterator[Any]:
    with closing(client_of(upstream, "bedrock-runtime", "/bedrock")) as client:
        yield client


def said(prompt: str, **more: Any) -> dict[str, Any]:
    message = {"role": "user", "content": [{"text": prompt}]}
    return {"modelId": MODEL, "messages": [message], **more}


def test_the_sdk_reads_an_answer(bedrock: Any) -> None:
    answer = bedrock.converse(**said(script(tokens=2, reasoning=1, redacted=1)))

    redacted, thought, text = answer["output"]["message"]["content"]
    assert redacted["reasoningContent"]["redactedContent"] == b"EncryptedThought"
    assert thought["reasoningContent"]["reasoningText"]["text"] == "think0 "
    assert (text["text"], answer["stopReason"]) == ("tok0 tok1 ", "end_turn")
    assert (answer["usage"]["inputTokens"], answer["usage"]["outputTokens"]) == (1, 3)


def test_the_sdk_reads_a_stream(bedrock: Any) -> None:
    answer = bedrock.converse_stream(**said(script(tokens=2, reasoning=1)))

    events = list(answer["stream"])
    kinds = [next(iter(event)) for event in events]
    assert (kinds[0], kinds[-2:]) == ("messageStart", ["messageStop", "metadata"])
    deltas = [
        event["contentBlockDelta"]["delta"] for event in events if "contentBlockDelta" in event
    ]
    assert "".join(delta.get("text", "") for delta in deltas) == "tok0 tok1 "


def test_the_sdk_reads_an_exception(bedrock: Any) -> None:
    answer = bedrock.converse_stream(**said(script(error_after=1, code="throttlingException")))

    refused = pytest.raises(EventStreamError, match="throttlingException")
    with closing(answer["stream"]) as stream, refused:
        list(stream)


def test_the_sdk_reads_claudes_own_events(bedrock: Any) -> None:
    body = {
        "anthropic_version": "bedrock-2023-05-31",
        "max_tokens": 9,
        "messages": [{"role": "user", "content": script(tokens=2)}],
    }
    answer = bedrock.invoke_model_with_response_stream(
        modelId=MODEL, body=json.dumps(body), accept="*/*"
    )

    events = [json.loads(event["chunk"]["bytes"]) for event in answer["body"]]
    assert (events[0]["type"], events[-1]["type"]) == ("message_start", "message_stop")


def test_the_sdk_reads_the_parts_of_an_endpoints_stream(upstream: UpstreamServer) -> None:
    body = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "hello"}]}
    with closing(client_of(upstream, "sagemaker-runtime", "/sagemaker")) as client:
        answer = client.invoke_endpoint_with_response_stream(
            EndpointName="mine", Body=json.dumps(body), ContentType="application/json"
        )
        parts = [event["PayloadPart"]["Bytes"] for event in answer["Body"]]

    assert b"".join(parts).endswith(b"data: [DONE]\n\n")


@pytest.mark.parametrize("wrong", [{"key": "AKIDWRONG00000000000"}, {"secret": "x" * 40}])
def test_wrong_keys_are_refused(upstream: UpstreamServer, wrong: dict[str, str]) -> None:
    client = client_of(upstream, "bedrock-runtime", "/bedrock", **wrong)

    with closing(client), pytest.raises(ClientError) as caught:
        client.converse(**said("hello"))

    assert caught.value.response["Error"]["Code"] == "InvalidSignatureException"


def call(name: str = "a") -> dict[str, Any]:
    return {"toolUse": {"toolUseId": name, "name": "f", "input": {}}}


def result(name: str = "a") -> dict[str, Any]:
    return {"toolResult": {"toolUseId": name, "content": [{"text": "sun"}]}}


def turn(role: str, *blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": role, "content": list(blocks)}


TEXT = {"text": "hello"}
TOOLS = {"tools": [{"toolSpec": {"name": "f", "inputSchema": {"json": {"type": "object"}}}}]}
DOCUMENT = {"document": {"format": "txt", "name": "a", "source": {"bytes": b"x"}}}


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"messages": [turn("assistant", TEXT)]}, "start with a user message"),
        ({"messages": [turn("user", TEXT), turn("user", TEXT)]}, "alternate"),
        ({"messages": [turn("user", {"text": " "})]}, "is blank"),
        ({"messages": [turn("user")]}, "is empty"),
        ({"messages": [turn("user", DOCUMENT)]}, "accompanied by a text"),
        ({"messages": [turn("user", TEXT, DOCUMENT, DOCUMENT)]}, "the same name"),
        (
            {"messages": [turn("user", TEXT), turn("assistant", call()), turn("user", result())]},
            "toolConfig field must be defined",
        ),
        (
            {"messages": [turn("user", TEXT), turn("assistant", call()), turn("user", TEXT)]},
            "Expected toolResult",
        ),
        ({"toolConfig": TOOLS | {"toolChoice": {"tool": {"name": "g"}}}}, "not among the tools"),
        ({"inferenceConfig": {"temperature": 1.5}}, "out of range"),
        ({"modelId": "missing.model-v1:0"}, "Could not resolve"),
    ],
)
def test_what_converse_refuses(bedrock: Any, asked: dict[str, Any], message: str) -> None:
    with pytest.raises(ClientError, match=message):
        bedrock.converse(**said("hello") | asked)


def test_what_the_model_does_not_know_is_refused(upstream: UpstreamServer) -> None:
    from tests.fakes.bedrock.service_model import ModelMismatch, judge_request

    judge_request("Converse", {"messages": [turn("user", TEXT)]}, MODEL)
    for wrong in ({"max_tokens": 5}, {"inferenceConfig": {"topK": 1}}, {"system": "Be brief."}):
        with pytest.raises(ModelMismatch):
            judge_request("Converse", {"messages": [turn("user", TEXT)], **wrong}, MODEL)
