"""POST /ask: another format for the operation that there is already."""

from __future__ import annotations

import json
from typing import ClassVar

import msgspec
from msgspec import Struct

from gateway.core.call import Call, CallFacts
from gateway.core.chat import ChatCall, ChatRequest
from gateway.core.cost_bound import CostBound
from gateway.core.errors import GatewayError
from gateway.core.events import Answer, ChatAnswer, Delta, Finish, WrittenEvent
from gateway.core.profiles import Profile
from gateway.core.prompt_parts import PromptParts
from gateway.core.receipt import Receipt
from gateway.core.request import RequestHead
from gateway.endpoints.base import AnswerForm
from gateway.endpoints.description import EndpointDescription
from gateway.endpoints.reading import explain
from gateway.endpoints.rules import Rules
from gateway.http.api_format import OPENAI
from gateway.snapshot.types import ModelRecord


class AskRequest(Struct):
    model: str
    ask: str
    stream: bool | None = None


class Said(Struct):
    said: str
    nusd: int


class Ask:
    """An Endpoint (gateway.endpoints.base)."""

    name = "ask"
    operation = "chat"
    scope = "completions"
    api_format = OPENAI
    paths: ClassVar[tuple[str, ...]] = ("ask",)

    def __init__(self, rules: Rules) -> None:
        """The rules are those of other endpoints."""

    def describe(self) -> EndpointDescription:
        return EndpointDescription(
            operation_id="ask",
            summary="Ask a question",
            answer="What the model said.",
            request=AskRequest,
            response=Said,
            examples={"who": {"model": "tollhouse/simulated", "ask": "Who?"}},
        )

    def read(self, body: bytes, head: RequestHead, profile: Profile) -> ChatCall:
        try:
            asked = msgspec.json.decode(body, type=AskRequest)
        except msgspec.ValidationError as error:
            raise explain(error, lambda param: param, AskRequest) from None
        facts = CallFacts(
            model=asked.model,
            stream=bool(asked.stream),
            user="",
            episode_id="",
            idempotency_key="",
            requires_parameters=False,
            body=body,
        )
        messages = json.dumps([{"role": "user", "content": asked.ask}]).encode()
        fields = {"model": json.dumps(asked.model).encode(), "messages": messages}
        return Call(facts, ChatRequest(fields=fields, messages=(), prompt_tokens_bound=100))

    def check_context(self, call: ChatCall, model: ModelRecord) -> None:
        """Nothing asked here is long."""

    def cost_bound(self, call: ChatCall, model: ModelRecord) -> CostBound:
        price = model.max_price
        limit_tokens = model.max_output_tokens
        return CostBound(
            price=price,
            prompt_pusd=100 * price.input_pusd,
            token_pusd=price.output_pusd,
            limit_tokens=limit_tokens,
        )

    def prompt_parts(self, call: ChatCall) -> PromptParts:
        return PromptParts(messages=1, texts=[bytes(call.payload.fields["messages"]).decode()])

    def open_writer(self, call: ChatCall, form: AnswerForm) -> AskWriter:
        return AskWriter()

    def open_stream_writer(self, call: ChatCall, form: AnswerForm) -> AskWriter:
        return AskWriter()


class AskWriter:
    """A Writer and a StreamWriter: the text, then what it cost."""

    keep_alive = b": still there\n\n"
    fallback: tuple[str, int] | None = None
    ends_with_whole = False
    is_open = False

    def open(self) -> bytes:
        return b""

    def write(self, event: WrittenEvent) -> bytes:
        if isinstance(event, Delta):
            return b"data: " + json.dumps({"said": event.fields.get("content")}).encode() + b"\n\n"
        return b"data: " + event.reason.encode() + b"\n\n" if isinstance(event, Finish) else b""

    def close(self, receipt: Receipt) -> list[bytes]:
        return [b"data: " + json.dumps({"nusd": receipt.charge_nusd}).encode() + b"\n\n"]

    def fail(self, error: GatewayError) -> bytes:
        return b"data: " + error.code.encode() + b"\n\n"

    def write_answer(self, answer: Answer, receipt: Receipt) -> bytes:
        assert isinstance(answer, ChatAnswer)
        said = answer.choices[0].message["content"]
        return msgspec.json.encode(Said(said, receipt.charge_nusd))
