"""One connection to the fake upstream: HTTP/1.1 by hand, for speed and for control of the socket.

The socket is always read, so a caller who hangs up is noticed at once, even in silence.
"""

from __future__ import annotations

import asyncio
import os
import socket
import struct
import time
from collections import defaultdict, deque
from typing import cast

import httptools
import msgspec

from tests.fakes.asked import Chat, Request, read_chat
from tests.fakes.book import FAILED, Entry, TokenBook
from tests.fakes.counting import count_prompt
from tests.fakes.embeddings import (
    EmbeddingsPlayer,
    as_chat,
    count_tokens,
    has_embeddings,
    read_asked,
)
from tests.fakes.outgoing import head
from tests.fakes.plain import plain_answer
from tests.fakes.player import Player
from tests.fakes.routes import answer_control, has_chat, has_right_key, is_anthropic
from tests.fakes.script import Script, ScriptError
from tests.fakes.strictness import Refused, refuse_unknown

RESET_ON_CLOSE = struct.pack("ii", 1, 0)
HIGH_WATER_BYTES = 65536


class House:
    """What the connections of one process share."""

    def __init__(self, book: TokenBook) -> None:
        self.book = book
        self.connections: set[Connection] = set()
        self.gates: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)
        self.serial = 0


class Connection(asyncio.Protocol):
    """Requests are answered one after the other, in the order they came."""

    def __init__(self, house: House) -> None:
        self._house = house
        self._loop = asyncio.get_running_loop()
        self._parser = httptools.HttpRequestParser(self)
        self._request = Request()
        self._waiting: deque[Request] = deque()
        self._entry: Entry | None = None
        self._task: asyncio.Task[None] | None = None
        self._writable = asyncio.Event()
        self._writable.set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports have the methods but not the base class.
        self._transport = transport = cast(asyncio.Transport, transport)
        transport.set_write_buffer_limits(high=HIGH_WATER_BYTES)
        self._house.connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._house.connections.discard(self)
        self._hang_up()

    def eof_received(self) -> None:
        self._hang_up()
        self._transport.abort()

    def _hang_up(self) -> None:
        self._waiting.clear()
        if self._task is not None and self._entry is not None:
            self._entry.hang_up()
            self._task.cancel()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    # What the parser calls.

    def data_received(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError:
            self._transport.write(head(400, [(b"connection", b"close")]))
            self._transport.close()

    def on_url(self, url: bytes) -> None:
        self._request.path += url.decode("latin-1")

    def on_header(self, name: bytes, value: bytes) -> None:
        request = self._request
        text = value.decode("latin-1")
        request.headers.append((name.decode("latin-1"), text))
        if len(name) == 12 and name.lower() == b"x-request-id":
            request.request_id = text

    def on_body(self, data: bytes) -> None:
        self._request.body += data

    def on_message_complete(self) -> None:
        request, self._request = self._request, Request()
        request.method = self._parser.get_method().decode()
        request.keep_alive = self._parser.should_keep_alive()
        if self._task is not None:
            self._waiting.append(request)
        else:
            self._serve(request)

    # What is answered.

    def _serve(self, request: Request) -> None:
        if is_anthropic(request.path):
            self._serve_anthropic(request)
            return
        if request.method == "POST" and has_embeddings(request.path):
            self._serve_embeddings(request)
            return
        if request.method != "POST" or not has_chat(request.path):
            house = self._house
            control = answer_control(request, house.book, house.gates, len(house.connections))
            self._transport.write(control)
            return
        if not has_right_key(request):
            self._answer_json(401, {"error": {"message": "Incorrect API key provided."}})
            return
        entry = self._house.book.open(request.request_id)
        self._house.serial += 1
        try:
            chat = read_chat(request.body)
            refuse_unknown(request.path, request.body)
            self._begin(request, chat, chat.script(), entry)
        except (msgspec.DecodeError, ScriptError, Refused) as error:
            entry.end(FAILED)
            self._answer_json(400, {"error": {"message": str(error), "code": "bad_request"}})

    def _serve_embeddings(self, request: Request) -> None:
        entry = self._house.book.open(request.request_id)
        self._house.serial += 1
        try:
            asked = read_asked(request)
            chat = as_chat(asked)
            script = chat.script()
        except (ScriptError, Refused) as error:
            entry.end(FAILED)
            self._answer_json(400, {"error": {"message": str(error), "code": "bad_request"}})
            return
        entry.model, entry.prompt_tokens = asked.model, sum(map(count_tokens, asked.inputs))
        player = EmbeddingsPlayer(self, request, chat, script, entry, self._house.serial)
        player.asked = asked
        self._play(player, entry)

    def _serve_anthropic(self, request: Request) -> None:
        # The SDK whose types judge it takes seconds to import, and most runs do not need it.
        from tests.fakes.anthropic import serving

        if request.method == "GET" and request.path.endswith("/models"):
            self._answer_json(*serving.list_models(request))
            return
        entry = self._house.book.open(request.request_id)
        self._house.serial += 1
        serial = self._house.serial
        try:
            chat = serving.read_request(request)
            script = chat.script()
        except (serving.Refused, ScriptError) as error:
            entry.end(FAILED)
            refused = error if isinstance(error, serving.Refused) else serving.Refused(str(error))
            self._answer_json(refused.status, serving.refusal(refused, serial))
            return
        entry.model, entry.stream = chat.model, bool(chat.stream)
        entry.prompt_tokens = chat.count_words()
        entry.cached_tokens = min(script.cached, entry.prompt_tokens)
        left = entry.prompt_tokens - entry.cached_tokens
        entry.cache_write_tokens = min(script.cache_written, left)
        player = serving.MessagesPlayer(self, request, chat, script, entry, serial)
        self._play(player, entry)

    def _play(self, player: Player, entry: Entry) -> None:
        self._entry = entry
        self._task = self._loop.create_task(player.play())
        self._task.add_done_callback(self._played)

    def _begin(self, request: Request, chat: Chat, script: Script, entry: Entry) -> None:
        entry.model = chat.model
        entry.stream = bool(chat.stream)
        counts = script.counts == "o200k"
        entry.prompt_tokens = count_prompt(request.body) if counts else chat.count_words()
        if script.is_plain and chat.is_plain and request.keep_alive:
            serial, second = self._house.serial, int(time.time())
            self._transport.write(plain_answer(chat, script, entry, serial, second))
            return
        entry.cached_tokens = min(script.cached, entry.prompt_tokens)
        player = Player(self, request, chat, script, entry, self._house.serial)
        self._play(player, entry)

    def _played(self, task: asyncio.Task[None]) -> None:
        self._task = None
        if task.cancelled():
            return
        if task.exception() is not None:
            self._transport.abort()  # the traceback goes to stderr; nobody waits for an answer
            task.result()
        if self._waiting:
            self._serve(self._waiting.popleft())

    def _answer_json(self, status: int, value: object) -> None:
        body = msgspec.json.encode(value)
        headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
        self._transport.write(head(status, headers) + body)

    # What a player needs of us.

    def write(self, data: bytes) -> None:
        self._transport.write(data)

    async def drained(self) -> None:
        await self._writable.wait()

    async def passed(self, gate: str) -> None:
        """Return when the gate has been opened."""
        await self._house.gates[gate].wait()

    def reset(self) -> None:
        """Close with a TCP RST instead of a FIN."""
        number = self._transport.get_extra_info("socket").fileno()
        with socket.socket(fileno=os.dup(number)) as double:
            double.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
        self._transport.abort()

    def close(self) -> None:
        self._transport.close()
