"""Chat completions of a server behind an endpoint of Amazon SageMaker.

References: https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_runtime_InvokeEndpoint.html
and API_runtime_InvokeEndpointWithResponseStream.html beside it
What an endpoint is sent and answers is its server's own format: OpenAI's, or TGI's, which takes its
Messages API at this address (router/src/sagemaker.rs). A stream is the server's own, cut anywhere,
in the payloads of an event stream.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from urllib.parse import quote

from gateway.core.chat import ChatCall
from gateway.core.errors import UpstreamError
from gateway.core.events import ChatAnswer, StreamEvent
from gateway.core.grant import Grant
from gateway.providers.aws import errors
from gateway.providers.aws.request import EVENT_STREAM, secrets_of_request, write_request
from gateway.providers.base import Decoder, Framing, UpstreamRequest
from gateway.providers.framing.aws_event_stream import PayloadParts
from gateway.providers.framing.json_lines import JsonLines
from gateway.providers.framing.sse import SseDecoder
from gateway.providers.openai_compatible.chat import OpenAIChat
from gateway.providers.tgi.chat import TgiChat, TgiDecoder
from gateway.providers.tgi.chat import read_error as read_servers_error
from gateway.snapshot.types import TargetRecord

SERVICE = "sagemaker"
HOSTED_PROVIDER = "hosted_provider"
# The kind of provider that a server counts as, and its translation.
OPENAI, TGI = "openai", "tgi"
KIND_OF: Mapping[str, str] = {OPENAI: "openai_compatible", TGI: "tgi"}


class SageMakerChat:
    """Chat completions for providers of the `sagemaker` dialect."""

    # What is taken depends on the server.
    supported: frozenset[str] = frozenset()

    def __init__(self) -> None:
        self._servers: Mapping[str, OpenAIChat] = {OPENAI: OpenAIChat(), TGI: TgiChat()}
        # TGI's answers are OpenAI's, and more.
        self._reader = self._servers[TGI]

    def check(self, call: ChatCall, target: TargetRecord) -> Iterable[str]:
        return self._server_of(target).check(call, _as_server(target))

    def build_request(self, call: ChatCall, grant: Grant, target: TargetRecord) -> UpstreamRequest:
        stream = call.facts.stream
        asked = self._server_of(target).build_request(call, grant, _as_server(target))
        endpoint = quote(target.native_model.partition("/")[0], safe="")
        action = "invocations-response-stream" if stream else "invocations"
        request = write_request(
            f"{target.base_url}/endpoints/{endpoint}/{action}",
            asked.body,
            grant=grant,
            target=target,
            service=SERVICE,
            accept=EVENT_STREAM if stream else "application/json",
        )
        request.prompt_tokens = asked.prompt_tokens
        request.wraps_choice = asked.wraps_choice
        return request

    def read_answer(self, body: bytes, request: UpstreamRequest) -> ChatAnswer:
        return self._reader.read_answer(body, request)

    def open_decoder(self, request: UpstreamRequest) -> Decoder:
        return HostedDecoder()

    def read_error(self, status: int, headers: Mapping[str, str], body: bytes) -> UpstreamError:
        return errors.read_error(status, headers, body, read_servers=read_servers_error)

    secrets = staticmethod(secrets_of_request)

    def _server_of(self, target: TargetRecord) -> OpenAIChat:
        return self._servers[target.settings.get(HOSTED_PROVIDER, OPENAI)]


class HostedDecoder:
    """Events of one stream."""

    __slots__ = ("_decoder", "framing")

    def __init__(self) -> None:
        self._decoder = TgiDecoder()
        self.framing: Framing = PayloadParts(EventsOrLines(), errors.read_exception)

    def read(self, frame: bytes) -> list[StreamEvent]:
        return self._decoder.read(frame)


class EventsOrLines:
    """The framing of a server that streams server-sent events, or JSON lines: the first byte
    tells."""

    __slots__ = ("_framing",)

    def __init__(self) -> None:
        self._framing: Framing | None = None

    def feed(self, chunk: bytes) -> Iterable[bytes]:
        if self._framing is None:
            begun = chunk.lstrip()
            if not begun:
                return ()
            self._framing = JsonLines() if begun[:1] in b"{[" else SseDecoder()
        return self._framing.feed(chunk)

    def finish(self) -> Iterable[bytes]:
        return () if self._framing is None else self._framing.finish()


def _as_server(target: TargetRecord) -> TargetRecord:
    """Return the target as its server has it: of another kind, and with the model's own name where
    that stands behind the endpoint's, as in `endpoint/model`."""
    endpoint, _, model = target.native_model.partition("/")
    kind = KIND_OF[target.settings.get(HOSTED_PROVIDER, OPENAI)]
    return replace(target, kind=kind, native_model=model or endpoint, secret="")
