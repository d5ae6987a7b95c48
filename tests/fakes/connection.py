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
from collections.abc import Callable, Sequence
from typing import cast

import httptools
import msgspec

from tests.fakes import mistral
from tests.fakes.asked import Chat, Request, read_chat
from tests.fakes.azure import is_azure, open_request
from tests.fakes.book import FAILED, Entry, TokenBook
from tests.fakes.counting import count_prompt
from tests.fakes.embedders import is_embedder
from tests.fakes.embedders import serve as serve_embedder
from tests.fakes.embeddings import (
    EmbeddingsPlayer,
    as_chat,
    count_tokens,
    has_embeddings,
    read_asked,
)
from tests.fakes.outgoing import Link, head
from tests.fakes.perplexity import PerplexityPlayer, is_perplexity
from tests.fakes.plain import plain_answer
from tests.fakes.player import Player
from tests.fakes.refused import Refused
from tests.fakes.routes import (
    answer_control,
    has_chat,
    has_other_endpoint,
    has_right_key,
    is_anthropic,
    is_aws,
    is_cohere,
    is_gemini,
    is_tgi,
)
from tests.fakes.script import Script, ScriptError
from tests.fakes.strictness import refuse_unknown

PlayerOf = Callable[[Link, Request, Entry, int], Player]
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
        if is_azure(request.path) and (refusal := open_request(request)) is not None:
            self._answer_json(*refusal)
        else:
            self._serve_as_meant(request)

    def _serve_as_meant(self, request: Request) -> None:
        for is_meant, serve in (
            (is_anthropic, self._serve_anthropic),
            (is_aws, self._serve_aws),
            (is_cohere, self._serve_cohere),
            (is_gemini, self._serve_gemini),
        ):
            if is_meant(request.path):
                serve(request)
                return
        if request.method == "POST" and is_embedder(request.path):
            self._serve_with(serve_embedder, request)
            return
        if request.method == "POST" and has_embeddings(request.path):
            self._serve_embeddings(request)
            return
        if request.method == "POST" and has_other_endpoint(request.path):
            self._serve_other(request)
            return
        if request.method != "POST" or not has_chat(request.path):
            house = self._house
            control = answer_control(request, house.book, house.gates, len(house.connections))
            self._transport.write(control)
            return
        if not has_right_key(request):
            self._answer_json(401, {"error": {"message": "Incorrect API key provided."}})
            return
        entry = self._open(request)
        try:
            chat = read_chat(request.body)
            refuse_unknown(request.path, request.body)
            if mistral.reports_usage(request.path):
                chat.stream_options = {"include_usage": True}
            self._begin(request, chat, chat.script(), entry)
        except (msgspec.DecodeError, ScriptError, Refused) as error:
            self._refuse(request, entry, error)

    def _serve_embeddings(self, request: Request) -> None:
        entry = self._open(request)
        try:
            asked = read_asked(request)
            chat = as_chat(asked)
            script = chat.script()
        except (ScriptError, Refused) as error:
            self._refuse(request, entry, error)
            return
        entry.model, entry.prompt_tokens = asked.model, sum(map(count_tokens, asked.inputs))
        player = EmbeddingsPlayer(self, request, chat, script, entry, self._house.serial)
        player.asked = asked
        self._play(player, entry)

    def _serve_other(self, request: Request) -> None:
        # As with Anthropic's API: the SDK takes long to import.
        from tests.fakes.openai import serving

        self._serve_with(serving.player_of, request)

    def _serve_with(self, player_of: PlayerOf, request: Request) -> None:
        entry = self._open(request)
        try:
            player = player_of(self, request, entry, self._house.serial)
        except (ScriptError, Refused) as error:
            self._refuse(request, entry, error)
            return
        self._play(player, entry)

    def _serve_cohere(self, request: Request) -> None:
        # As with Anthropic's API: the SDK takes long to import.
        from tests.fakes.cohere import serving

        entry = self._open(request)
        serial = self._house.serial
        try:
            player = serving.player_of(self, request, entry, serial)
        except (serving.Refused, ScriptError) as error:
            entry.end(FAILED)
            status = error.status if isinstance(error, serving.Refused) else 400
            self._answer_json(status, {"id": f"{serial:032x}", "message": str(error)})
            return
        self._play(player, entry)

    def _serve_anthropic(self, request: Request) -> None:
        # The SDK whose types judge it takes seconds to import, and most runs do not need it.
        from tests.fakes.anthropic import serving

        if request.method == "GET" and request.path.endswith("/models"):
            self._answer_json(*serving.list_models(request))
            return
        entry = self._open(request)
        try:
            chat = serving.read_request(request)
            script = chat.script()
        except (serving.Refused, ScriptError) as error:
            entry.end(FAILED)
            refused = error if isinstance(error, serving.Refused) else serving.Refused(str(error))
            self._answer_json(refused.status, serving.refusal(refused, self._house.serial))
            return
        entry.note(chat.model, chat.count_words(), script, stream=bool(chat.stream))
        player = serving.MessagesPlayer(self, request, chat, script, entry, self._house.serial)
        self._play(player, entry)

    def _serve_aws(self, request: Request) -> None:
        # botocore's model of it takes a second to read, and most runs do not need it.
        from tests.fakes.bedrock import serving

        entry = self._open(request)
        try:
            player = serving.player_of(self, request, entry, self._house.serial)
        except (serving.Refused, ScriptError) as error:
            entry.end(FAILED)
            refused = error if isinstance(error, serving.Refused) else serving.Refused(str(error))
            self._answer_json(refused.status, *serving.refusal(refused))
            return
        self._play(player, entry)

    def _serve_gemini(self, request: Request) -> None:
        # As Anthropic's.
        from tests.fakes.gemini import serving

        if request.method == "GET" and request.path.partition("?")[0].endswith("/models"):
            self._answer_json(*serving.list_models(request))
            return
        entry = self._open(request)
        try:
            player = serving.player_of(self, request, entry, self._house.serial)
        except (serving.Refused, ScriptError) as error:
            entry.end(FAILED)
            refused = error if isinstance(error, serving.Refused) else serving.Refused(str(error))
            self._answer_json(refused.status, serving.refusal(refused))
            return
        self._play(player, entry)

    def _open(self, request: Request) -> Entry:
        """Count a request, and enter it in the book."""
        self._house.serial += 1
        return self._house.book.open(request.request_id)

    def _refuse(self, request: Request, entry: Entry, error: Exception) -> None:
        """Refuse a request as OpenAI does, or as Text Generation Inference."""
        entry.end(FAILED)
        if is_tgi(request.path):
            self._answer_json(422, {"error": str(error), "error_type": "validation"})
            return
        self._answer_json(400, {"error": {"message": str(error), "code": "bad_request"}})

    def _play(self, player: Player, entry: Entry) -> None:
        self._entry = entry
        self._task = self._loop.create_task(player.play())
        self._task.add_done_callback(self._played)

    def _begin(self, request: Request, chat: Chat, script: Script, entry: Entry) -> None:
        counts = script.counts == "o200k"
        prompt_tokens = count_prompt(request.body) if counts else chat.count_words()
        entry.note(chat.model, prompt_tokens, script, stream=bool(chat.stream))
        if is_tgi(request.path):
            from tests.fakes.tgi import TgiPlayer

            player: Player = TgiPlayer(self, request, chat, script, entry, self._house.serial)
            self._play(player, entry)
            return
        if is_perplexity(request.path):
            player = PerplexityPlayer(self, request, chat, script, entry, self._house.serial)
            self._play(player, entry)
            return
        if script.is_plain and chat.is_plain and request.keep_alive:
            serial, second = self._house.serial, int(time.time())
            self._transport.write(plain_answer(chat, script, entry, serial, second))
            return
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

    def _answer_json(
        self, status: int, value: object, extra: Sequence[tuple[bytes, bytes]] = ()
    ) -> None:
        body = msgspec.json.encode(value)
        headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
        self._transport.write(head(status, [*headers, *extra]) + body)

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
