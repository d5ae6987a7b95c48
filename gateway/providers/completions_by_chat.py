"""Text completions by a provider's chat: the prompt is one message of the user's."""

from __future__ import annotations

from collections.abc import Mapping

from gateway.core.completions import CompletionsCall, as_chat, dropped_as_chat
from gateway.core.errors import UpstreamError
from gateway.core.events import Answer
from gateway.core.grant import Grant
from gateway.providers.base import AnyAdapter, Decoder, UpstreamRequest
from gateway.snapshot.types import TargetRecord


class CompletionsByChat:
    """Text completions for every provider of a dialect that has chat alone.

    chat: the dialect's adapter for chat, which does the rest.
    """

    # What a chat cannot be told depends on values.
    supported: frozenset[str] = frozenset()

    def __init__(self, chat: AnyAdapter) -> None:
        self._chat = chat

    def check(self, call: CompletionsCall, target: TargetRecord) -> set[str]:
        return {*dropped_as_chat(call.payload), *self._chat.check(as_chat(call), target)}

    def build_request(
        self, call: CompletionsCall, grant: Grant, target: TargetRecord
    ) -> UpstreamRequest:
        return self._chat.build_request(as_chat(call), grant, target)

    def read_answer(self, body: bytes, request: UpstreamRequest) -> Answer:
        return self._chat.read_answer(body, request)

    def open_decoder(self, request: UpstreamRequest) -> Decoder:
        return self._chat.open_decoder(request)

    def read_error(self, status: int, headers: Mapping[str, str], body: bytes) -> UpstreamError:
        return self._chat.read_error(status, headers, body)

    def secrets(self, request: UpstreamRequest) -> tuple[bytes, ...]:
        return self._chat.secrets(request)
