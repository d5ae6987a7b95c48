"""POST /files, under every mount: an ASGI application of its own reads an upload as it arrives.

Django would store the whole body before a view sees it. Here a quarter of a megabyte of each upload
is in memory: it is handed to a thread, which encrypts and writes it, before more is read.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import ParamSpec, TypeVar
from uuid import UUID

import msgspec
from django.db import Error as DatabaseError
from django.db import close_old_connections, connections
from django.http import HttpRequest, HttpResponse

from gateway.api.anthropic_models import names_version
from gateway.api.errors import json_error, sign
from gateway.api.files import SCOPE, storage_headers
from gateway.api.mount import SCOPE_KEY, Inbound
from gateway.api.schemas.anthropic_files import write_anthropic_file
from gateway.api.schemas.files import write_file_object
from gateway.core.asgi import Application, Receive, Scope, Send
from gateway.core.errors import CallerLeft, DatabaseUnavailable, GatewayError, Overloaded
from gateway.core.fair_semaphore import FairSemaphore
from gateway.core.forms import read_boundary
from gateway.core.request import WRITE_NOW, Reply
from gateway.edge.body_limits import FILES
from gateway.http.api_format import ANTHROPIC, OPENAI, ApiFormat
from gateway.http.body import FORM, check_head
from gateway.http.headers import read_idempotency_key
from gateway.services.files.limits import MOST_FILE_BYTES
from gateway.services.files.quota import FORM_BYTES
from gateway.services.files.receiving import Upload, Uploader

logger = logging.getLogger(__name__)

# At once in a process, and of one workspace: each has a piece in memory, and a thread for it.
MAX_AT_ONCE = 16
MAX_OF_ONE = 8
THREADS = 4
# Of an upload of Anthropic's SDKs, which do not say.
ANTHROPICS_PURPOSE = "user_data"
# Copied several times on its way to the disk. Much longer ones take twice the processor time: the
# system gives and clears the memory of each copy anew (LARGE_BLOCK_BYTES, gateway.launch.serving).
PIECE_BYTES = 256 * 1024
# A piece that grows slowly is written after this time, so that the row says that it lives.
PIECE_S = 20.0
P = ParamSpec("P")
T = TypeVar("T")


class Uploads:
    """ASGI middleware in front of Django, behind ApiMount: takes uploads, hands on all else."""

    def __init__(self, application: Application) -> None:
        self._application = application
        self._semaphore = FairSemaphore(MAX_AT_ONCE, MAX_OF_ONE)
        self._threads = ThreadPoolExecutor(THREADS, "uploads")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "POST" or not FILES.fullmatch(scope["path"]):
            await self._application(scope, receive, send)
            return
        inbound: Inbound = scope[SCOPE_KEY]
        find_reply = scope.get("extensions", {}).get(WRITE_NOW)
        reply: Reply | None = None if find_reply is None else find_reply()
        request = HttpRequest()
        request.scope = scope  # type: ignore[attr-defined]
        try:
            response = await self._answer(inbound, receive, reply)
        except CallerLeft:
            if reply is None or reply.hold is None or not reply.hold.is_refused:
                return
            response = json_error(request, Overloaded(), format_of(inbound))
        except Exception as error:
            response = json_error(request, as_known(error, inbound), format_of(inbound))
        finally:
            if reply is not None and reply.hold is not None:
                reply.release_body()
        await self._add_storage(inbound, response)
        await send_response(send, response)

    async def _answer(
        self, inbound: Inbound, receive: Receive, reply: Reply | None
    ) -> HttpResponse:
        """Return the answer to an upload that went well. Raises GatewayError."""
        if inbound.error is not None:
            raise inbound.error
        caller, head = inbound.caller, inbound.head
        assert caller is not None
        inbound.admission.screen(caller, head, SCOPE)
        if inbound.outage is not None:
            raise inbound.outage
        check_head(head, MOST_FILE_BYTES + FORM_BYTES, FORM)
        is_anthropic = names_version(head)
        boundary = read_boundary(head.first(b"content-type"))
        length = head.first(b"content-length")
        uploader = Uploader(
            workspace_id=UUID(caller.key.workspace_id),
            key_id=UUID(caller.key.key_id),
            idempotency_key=read_idempotency_key(head),
            length_bytes=int(length) if length.isdigit() else 0,
            purpose=ANTHROPICS_PURPOSE if is_anthropic else "",
        )
        if reply is not None:
            reply.claim_body(caller.key.key_id)
        async with self._semaphore.slot(caller.key.workspace_id):
            upload = await self._run(Upload, uploader, boundary)
            try:
                await self._receive(upload, receive, reply)
                file = await self._run(upload.finish)
            except BaseException:
                # Also when the server stops: what was written is of no use.
                await asyncio.shield(self._run(upload.abort))
                raise
        written = write_anthropic_file(file) if is_anthropic else write_file_object(file)
        response = HttpResponse(msgspec.json.encode(written), content_type="application/json")
        response["cache-control"] = "no-store"
        if upload.is_replay:
            response["idempotent-replayed"] = "true"
        sign(response, inbound)
        if id_header := format_of(inbound).id_header:
            response[id_header.decode()] = head.request_id
        return response

    async def _receive(self, upload: Upload, receive: Receive, reply: Reply | None) -> None:
        """Hand the body to the upload, a piece at a time. Raises CallerLeft, and what it raises."""
        piece, since, has_more = bytearray(), time.monotonic(), True
        while has_more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise CallerLeft
            has_more = bool(message.get("more_body"))
            body = message.get("body", b"")
            piece += body
            if reply is not None:
                reply.give_back(len(body))
            is_old = time.monotonic() - since > PIECE_S
            if len(piece) >= PIECE_BYTES or is_old or not has_more:
                whole, piece = bytes(piece), bytearray()
                await self._run(upload.feed, whole)
                if is_old:
                    await self._run(upload.touch)
                since = time.monotonic()

    def _run(
        self, work: Callable[P, T], /, *arguments: P.args, **named: P.kwargs
    ) -> Coroutine[object, None, T]:
        """Run a step of an upload in a thread. Raises DatabaseUnavailable."""
        return run_in_thread(self._threads, partial(work, *arguments, **named))

    async def _add_storage(self, inbound: Inbound, response: HttpResponse) -> None:
        """Say what the workspace stores, where it is known who asks."""
        if inbound.error is not None or inbound.caller is None:
            return
        workspace_id = UUID(inbound.caller.key.workspace_id)
        try:
            headers = await self._run(storage_headers, workspace_id)
        except GatewayError:
            return
        for name, value in headers.items():
            response[name] = value


async def run_in_thread(threads: ThreadPoolExecutor, work: Callable[[], T]) -> T:
    loop = asyncio.get_running_loop()
    try:
        return await loop.run_in_executor(threads, _run, work)
    except DatabaseError as error:
        raise DatabaseUnavailable(detail=repr(error), retry_after_s=1) from error


def _run(work: Callable[[], T]) -> T:
    close_old_connections()
    try:
        return work()
    finally:
        # Back to the pool: between two steps an upload waits for its caller.
        connections.close_all()


def format_of(inbound: Inbound) -> ApiFormat:
    return ANTHROPIC if names_version(inbound.head) else OPENAI


def as_known(error: Exception, inbound: Inbound) -> GatewayError:
    """Return our error for one that ended an upload, and log what is not the caller's."""
    if not isinstance(error, GatewayError):
        logger.error("An upload failed with an unexpected error.", exc_info=error)
        return GatewayError()
    if error.detail:
        logger.warning("Upload %s: %s: %s", inbound.head.request_id, error.code, error.detail)
    return error


async def send_response(send: Send, response: HttpResponse) -> None:
    headers = [(name.lower().encode(), value.encode()) for name, value in response.items()]
    headers.append((b"content-length", b"%d" % len(response.content)))
    start = {"type": "http.response.start", "status": response.status_code, "headers": headers}
    await send(start)
    await send({"type": "http.response.body", "body": response.content})
