"""The edge: ASGI on one side, the pipeline on the other.

A plain callable under Channels' router rather than a Channels consumer: that one does not
notice a hang-up while it streams and costs a good part of the throughput (docs/adr/0004).
"""

from __future__ import annotations

import logging
from collections import Counter
from typing import NoReturn, Protocol

from gateway import pipeline
from gateway.caller.connection import CallerConnection
from gateway.core.asgi import Receive, Scope, Send
from gateway.core.errors import CallerGone, CallerStalled, GatewayError, MethodNotAllowed
from gateway.core.request import WRITE_NOW, Reply, RequestHead
from gateway.endpoints.base import AnyEndpoint, AnyTokenCounter
from gateway.http.head import read_head
from gateway.stages import Stages

logger = logging.getLogger(__name__)

NO_EXTENSIONS: Scope = {}


class Process(Protocol):
    """Who carries calls (gateway.wiring)."""

    stages: Stages
    is_ready: bool

    # How many requests did not become a call, by error code.
    refused: Counter[str]

    async def ready(self) -> object: ...


class CallConsumer:
    """An endpoint that calls models, as an ASGI application."""

    def __init__(
        self,
        process: Process,
        endpoint: AnyEndpoint,
        body_limit: int,
        *,
        whole_credits: bool = False,
    ) -> None:
        self._process = process
        self._endpoint = endpoint
        self._body_limit = body_limit
        self._whole_credits = whole_credits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        head, caller, reply = self._meet(scope, receive, send)
        admitted = None
        try:
            stages = self._process.stages
            if not self._process.is_ready:
                await self._process.ready()
            if scope["method"] != "POST":
                self._refuse_method(head, caller)
            admitted = await pipeline.admit(stages, self._endpoint, head, caller)
            if admitted is not None:
                await pipeline.carry(stages, admitted, head, caller)
        except Exception as error:
            await self._fail(head, caller, error, was_admitted=admitted is not None)
        finally:
            if reply is not None and reply.hold is not None:
                reply.release_body()

    def _meet(
        self, scope: Scope, receive: Receive, send: Send
    ) -> tuple[RequestHead, CallerConnection, Reply | None]:
        """Return the head of a request, its caller's side, and the server's."""
        head = read_head(scope)
        find_reply = scope.get("extensions", NO_EXTENSIONS).get(WRITE_NOW)
        reply = None if find_reply is None else find_reply()
        caller = CallerConnection(self._endpoint, head, receive, send, reply)
        caller.body_limit, caller.whole_credits = self._body_limit, self._whole_credits
        return head, caller, reply

    def _refuse_method(self, head: RequestHead, caller: CallerConnection) -> NoReturn:
        """Raise MethodNotAllowed."""
        caller.profile = self._process.stages.choose_profile(head, None)
        raise MethodNotAllowed(details={"allow": ["POST"]})

    async def _fail(
        self, head: RequestHead, caller: CallerConnection, error: Exception, *, was_admitted: bool
    ) -> None:
        """End an exchange that cannot go on."""
        if isinstance(error, CallerStalled):
            await caller.cut()
        elif isinstance(error, CallerGone):
            await caller.end_unread()
        elif isinstance(error, GatewayError):
            if not was_admitted:
                self._process.refused[error.code] += 1
            self._log(head, error)
            await caller.refuse(error)
        else:
            logger.error(
                "Call %s failed with an unexpected error.",
                head.request_id,
                exc_info=error,
                extra={"call_id": head.request_id},
            )
            await caller.refuse(GatewayError())

    def _log(self, head: RequestHead, error: GatewayError) -> None:
        if error.detail:
            logger.warning(
                "Call %s: %s: %s",
                head.request_id,
                error.code,
                error.detail,
                extra={"call_id": head.request_id},
            )


class TokenCountConsumer(CallConsumer):
    """Counts the tokens of requests, as an ASGI application."""

    def __init__(self, process: Process, counter: AnyTokenCounter, body_limit: int) -> None:
        super().__init__(process, counter, body_limit)
        self._counter = counter

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        head, caller, reply = self._meet(scope, receive, send)
        try:
            stages = self._process.stages
            if not self._process.is_ready:
                await self._process.ready()
            if scope["method"] != "POST":
                self._refuse_method(head, caller)
            tokens = await pipeline.count_tokens(stages, self._counter, head, caller)
            await caller.send_body(self._counter.write_count(tokens))
        except Exception as error:
            await self._fail(head, caller, error, was_admitted=False)
        finally:
            if reply is not None and reply.hold is not None:
                reply.release_body()
