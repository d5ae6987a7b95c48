"""OpenAI's Moderations API. https://platform.openai.com/docs/api-reference/moderations"""

from __future__ import annotations

import msgspec

from gateway.core.call import Call, Payload
from gateway.core.grant import Grant
from gateway.core.moderations import ModerationsAnswer, ModerationsRequest
from gateway.providers.base import UpstreamRequest
from gateway.providers.invalid import invalid_answer
from gateway.providers.openai_compatible.answers import MALFORMED
from gateway.providers.openai_compatible.embeddings import read_usage
from gateway.providers.openai_compatible.plain import PlainAdapter
from gateway.snapshot.types import TargetRecord


class OpenAIModerations(PlainAdapter):
    operation = "moderations"

    def build_request(
        self, call: Call[Payload], grant: Grant, target: TargetRecord
    ) -> UpstreamRequest:
        request = super().build_request(call, grant, target)
        assert isinstance(call.payload, ModerationsRequest)
        request.answers = call.payload.results
        return request

    def read_answer(self, body: bytes, request: UpstreamRequest) -> ModerationsAnswer:
        """Raises ProviderUnavailable unless there is one result for each input."""
        try:
            answer = _decode(body)
            are_objects = all(bytes(one).startswith(b"{") for one in answer.results)
        except MALFORMED:
            raise invalid_answer(body) from None
        if not are_objects or len(answer.results) != request.answers:
            raise invalid_answer(body)
        return ModerationsAnswer(answer.results, read_usage(answer.usage))


class _Answer(msgspec.Struct):
    """What we read of an answer; the rest is skipped undecoded."""

    results: list[msgspec.Raw]
    usage: object = None


_decode = msgspec.json.Decoder(_Answer).decode
