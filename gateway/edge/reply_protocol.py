"""uvicorn's HTTP protocol, with replies of our own (gateway.edge.reply)."""

from __future__ import annotations

import asyncio
from functools import lru_cache, partial
from typing import ClassVar
from urllib.parse import unquote

from httptools import parse_url
from uvicorn._types import ASGI3Application
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from gateway.core.fair_loop_quota import FairLoopQuota
from gateway.edge.connection_limits import ConnectionLimiter
from gateway.edge.reply import Reply


class ReplyProtocol(HttpToolsProtocol):
    """gateway.asgi sets limiter, once, before the first connection."""

    limiter: ClassVar[ConnectionLimiter]
    cycle: Reply
    # When requests begin to run (ConnectionLimiter.share_starts).
    _starts: FairLoopQuota

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._starts = self.limiter.share_starts(self.loop)

    def on_headers_complete(self) -> None:
        """Make the reply to a request, and start the application where it is the request's turn.

        In place of uvicorn's method, which makes replies of its own class. Left out is what is not
        used: WebSockets and --limit-concurrency. tests/contract/test_uvicorn.py compares both.
        """
        parser, scope, is_retiring = self.parser, self.scope, self.limiter.is_retiring
        before: RequestResponseCycle | None = self.cycle
        version = parser.get_http_version()
        scope["method"] = parser.get_method().decode("ascii")
        if version != "1.1":
            scope["http_version"] = version
        target = split_target(self.url, self.root_path)
        scope["path"], scope["raw_path"], scope["query_string"] = target
        reply = self.cycle = Reply(
            scope=scope,
            transport=self.transport,
            flow=self.flow,
            logger=self.logger,
            access_logger=self.access_logger,
            access_log=self.access_log,
            default_headers=self.server_state.default_headers,
            message_event=asyncio.Event(),
            expect_100_continue=self.expect_100_continue,
            keep_alive=version != "1.0" and parser.should_keep_alive() and not is_retiring,
            on_response=self.on_response_complete,
        )
        reply.refusal_rate = self.limiter.refusal_rate
        if is_retiring:
            reply.says_close = True
        if before is None or before.response_complete:
            self._start(reply)
        else:
            self.flow.pause_reading()
            self.pipeline.appendleft((reply, self.app))

    def _start(self, reply: Reply) -> None:
        """Start the application, now or when it is the turn of whose request it is."""
        if self._starts.try_take():
            self._start_asgi_task(reply, self.app)
            return
        owner = self.limiter.owner_of(self.client[0] if self.client else "", reply.scope)
        self._starts.wait(owner, partial(self._start_late, reply))

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        """As uvicorn's, without asking the loop, and with a name: making one up takes asyncio a
        fifth of the time of a task."""
        task = asyncio.Task(cycle.run_asgi(app), loop=self.loop, name="request")
        task.add_done_callback(self.tasks.discard)
        self.tasks.add(task)

    def _start_late(self, reply: Reply) -> None:
        if not reply.disconnected:  # else nobody waits for an answer
            self._start_asgi_task(reply, self.app)


@lru_cache(maxsize=256)
def split_target(target: bytes, root_path: str) -> tuple[str, bytes, bytes]:
    """Return the path behind root_path, decoded and as it was sent, and the query. Most requests
    have one of a few targets. Raises HttpParserInvalidURLError."""
    url = parse_url(target)
    path = url.path.decode("ascii")
    path = root_path + (unquote(path) if "%" in path else path)
    return path, root_path.encode("ascii") + url.path, url.query or b""
