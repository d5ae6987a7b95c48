"""POST /words: an operation of its own, with an adapter for the scratch dialect."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import ClassVar

import msgspec

from gateway.core.call import Call, CallFacts, Payload
from gateway.core.cost_bound import CostBound
from gateway.core.errors import ProviderUnavailable, UpstreamError
from gateway.core.events import Answer, AnswerMeter
from gateway.core.grant import Grant
from gateway.core.money import Usage
from gateway.core.profiles import Profile
from gateway.core.prompt_parts import PromptParts
from gateway.core.receipt import Receipt
from gateway.core.request import RequestHead
from gateway.endpoints.base import AnswerForm, StreamWriter
from gateway.endpoints.description import EndpointDescription
from gateway.endpoints.reading import explain, member_decoder
from gateway.endpoints.rules import Rules
from gateway.http.api_format import OPENAI
from gateway.providers.base import Decoder, UpstreamRequest
from gateway.snapshot.types import ModelRecord, TargetRecord
from tests.house.seams.dialect import read_usage


class WordsBody(msgspec.Struct):
    model: str
    texts: list[str]


class WordsCounted(msgspec.Struct):
    counts: list[int]
    nusd: int


class WordsRequest(Payload, frozen=True, kw_only=True):
    """Texts whose words are to be counted."""

    operation = "words"

    texts: list[str]


class WordsAnswer(msgspec.Struct, frozen=True):
    """An Answer (gateway.core.events)."""

    counts: list[int]
    usage: Usage | None

    def note(self, meter: AnswerMeter) -> None:
        meter.count_delta(len(self.counts))
        meter.finish(0, "stop")

    def forget(self) -> None:
        self.counts.clear()


class CountWords:
    """An Endpoint (gateway.endpoints.base)."""

    name = "words"
    operation = "words"
    scope = "completions"
    api_format = OPENAI
    paths: ClassVar[tuple[str, ...]] = ("words",)

    def __init__(self, rules: Rules) -> None:
        """The rules are those of other endpoints."""

    def describe(self) -> EndpointDescription:
        return EndpointDescription(
            operation_id="countWords",
            summary="Count words",
            answer="How many words each text has.",
            request=WordsBody,
            response=WordsCounted,
            examples={"two": {"model": "tollhouse/simulated", "texts": ["a b", "c"]}},
        )

    def read(self, body: bytes, head: RequestHead, profile: Profile) -> Call[WordsRequest]:
        try:
            asked = msgspec.json.decode(body, type=WordsBody)
        except msgspec.ValidationError as error:
            raise explain(error, lambda param: param, WordsBody) from None
        facts = CallFacts(
            model=asked.model,
            stream=False,
            user="",
            episode_id="",
            idempotency_key="",
            requires_parameters=False,
            body=body,
        )
        fields = {name: bytes(raw) for name, raw in member_decoder.decode(body).items()}
        return Call(facts, WordsRequest(fields=fields, texts=asked.texts))

    def check_context(self, call: Call[WordsRequest], model: ModelRecord) -> None:
        """Nothing counted here is long."""

    def cost_bound(self, call: Call[WordsRequest], model: ModelRecord) -> CostBound:
        chars = sum(map(len, call.payload.texts))
        return CostBound(
            price=model.max_price,
            prompt_pusd=chars * model.max_price.input_pusd,
            token_pusd=0,
            limit_tokens=0,
        )

    def prompt_parts(self, call: Call[WordsRequest]) -> PromptParts:
        return PromptParts(messages=1, texts=call.payload.texts)

    def open_writer(self, call: Call[WordsRequest], form: AnswerForm) -> WordsWriter:
        return WordsWriter()

    def open_stream_writer(self, call: Call[WordsRequest], form: AnswerForm) -> StreamWriter:
        raise AssertionError("No such call is streamed.")


class WordsWriter:
    """A Writer (gateway.endpoints.base)."""

    def write_answer(self, answer: Answer, receipt: Receipt) -> bytes:
        assert isinstance(answer, WordsAnswer)
        return msgspec.json.encode(WordsCounted(answer.counts, receipt.charge_nusd))


class ScratchWords:
    """An Adapter (gateway.providers.base)."""

    supported = frozenset({"model", "texts"})

    def check(self, call: Call[WordsRequest], target: TargetRecord) -> set[str]:
        return set(call.payload.fields) - self.supported

    def build_request(
        self, call: Call[WordsRequest], grant: Grant, target: TargetRecord
    ) -> UpstreamRequest:
        body = json.dumps({"texts": call.payload.texts}).encode()
        return UpstreamRequest(url=f"{target.base_url}/words", headers={}, body=body)

    def read_answer(self, body: bytes, request: UpstreamRequest) -> WordsAnswer:
        said = json.loads(body)
        return WordsAnswer(said["counts"], read_usage(said["used"]))

    def open_decoder(self, request: UpstreamRequest) -> Decoder:
        raise AssertionError("No such answer is streamed.")

    def read_error(self, status: int, headers: Mapping[str, str], body: bytes) -> UpstreamError:
        return ProviderUnavailable("The provider failed.")

    def secrets(self, request: UpstreamRequest) -> tuple[bytes, ...]:
        return ()
