"""What the attackers do. Each is a coroutine that makes one attempt and returns how it ended."""

from __future__ import annotations

import asyncio
import base64
import json
import secrets
import struct
import zlib
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import lru_cache

from tests.faults.flood.wire import CLOSED, REFUSED, Connection, request
from tests.support.pdf_bombs import BOMBS

MB = 1_000_000
PIECE_BYTES = 64 * 1024
CALLS = "/v1/chat/completions"
SIMULATED = "tollhouse/simulated"
# Those of a few KB: long bodies are what other attacks are for.
LONG = ("200,000 objects", "brackets")
DOCUMENTS = tuple(write for name, write in BOMBS.items() if name not in LONG)


@dataclass(frozen=True)
class Target:
    """Where to, and with what. limited_key: of another key, which may make few calls. models: the
    names of those that a hostile provider serves."""

    port: int
    key: str = ""
    limited_key: str = ""
    model: str = ""
    file_url: str = ""
    models: tuple[str, ...] = ()


Attack = Callable[[Connection, Target], Awaitable[str]]


async def large_form(connection: Connection, target: Target) -> str:
    """A sign-in form of 48 MB: a million fields."""
    form = "application/x-www-form-urlencoded"
    head = request("POST", "/sign-in", length=48 * MB, content_type=form)
    return await _pour(connection, head, b"a=1&" * (PIECE_BYTES // 4), 48 * MB)


async def chunked_body(connection: Connection, target: Target) -> str:
    """A chunked body without end, to an address that does not exist."""
    head = request("POST", "/no-such-page", transfer_encoding="chunked")
    piece = b"%x\r\n%b\r\n" % (PIECE_BYTES, b"x" * PIECE_BYTES)
    return await _pour(connection, head, piece, 100 * MB)


async def slow_head(connection: Connection, target: Target) -> str:
    """A head that comes a line a second and never ends."""
    alive = await connection.send(b"GET / HTTP/1.1\r\nhost: 127.0.0.1\r\n")
    while alive:
        await asyncio.sleep(1.0)
        alive = await connection.send(b"x-%d: y\r\n" % secrets.randbelow(100))
    return await connection.answer()


async def missing_page(connection: Connection, target: Target) -> str:
    await connection.send(request("GET", f"/{secrets.token_hex(8)}"))
    return await connection.answer()


async def guessed_key(connection: Connection, target: Target) -> str:
    return await _ask(connection, secrets.token_urlsafe(32), {"model": "m", "messages": []})


async def guessed_password(connection: Connection, target: Target) -> str:
    """A form without its token: refused before anybody's password is looked at."""
    form = "application/x-www-form-urlencoded"
    body = f"login=someone@example.com&password={secrets.token_hex(8)}".encode()
    await connection.send(request("POST", "/sign-in", body, content_type=form))
    return await connection.answer()


async def pattern(connection: Connection, target: Target) -> str:
    """A regular expression of 25 KB that takes seconds to compile."""
    return await _chat(connection, target, "hello", guided_regex="(a{1,50}){1,50}" * 1_700)


async def hostile_file(connection: Connection, target: Target) -> str:
    """A file from a server that floods whoever fetches."""
    content = [
        {"type": "text", "text": "Read this."},
        {"type": "file", "file": {"file_url": f"{target.file_url}/{secrets.token_hex(4)}.txt"}},
    ]
    return await _chat(connection, target, content)


async def document(connection: Connection, target: Target) -> str:
    """A PDF that is made to do harm, for a model that reads none."""
    content = _document(secrets.randbelow(len(DOCUMENTS))) + b"\n%%%d" % secrets.randbits(64)
    url = "data:application/pdf;base64," + base64.b64encode(content).decode()
    file = {"type": "file", "file": {"filename": "a.pdf", "file_data": url}}
    return await _chat(connection, target, [{"type": "text", "text": "Read this."}, file])


async def patient_document(connection: Connection, target: Target) -> str:
    """The same from a caller that waits after a refusal, as clients do: 1 to 10 s."""
    ended = await document(connection, target)
    if ended == "429":
        await asyncio.sleep(1 + secrets.randbelow(9_000) / 1_000)
    return ended


async def held_upload(connection: Connection, target: Target) -> str:
    """A body of 49 MB of which the last byte never comes."""
    head = request(
        *("POST", CALLS),
        length=49 * MB,
        authorization=f"Bearer {target.key}",
        content_type="application/json",
    )
    ended = await _pour(connection, head, b" " * PIECE_BYTES, 49 * MB - 1, patience_s=20.0)
    connection.close()
    return ended


async def huge_picture(connection: Connection, target: Target) -> str:
    """A small PNG that says it has 3.6 thousand million pixels."""
    url = "data:image/png;base64," + base64.b64encode(_png(60_000, 60_000)).decode()
    return await _chat(connection, target, [{"type": "image_url", "image_url": {"url": url}}] * 10)


async def refusal(connection: Connection, target: Target) -> str:
    """A call to a model that the key may not use."""
    body = {"model": "no-such-model", "messages": [{"role": "user", "content": "hello"}]}
    return await _ask(connection, target.key, body)


async def tiny_chunks(connection: Connection, target: Target) -> str:
    """A body in chunks of one byte."""
    head = request(
        *("POST", CALLS),
        authorization=f"Bearer {target.key}",
        content_type="application/json",
        transfer_encoding="chunked",
    )
    return await _pour(connection, head, b"1\r\n \r\n" * 5_000, 20 * MB)


async def hostile_provider(connection: Connection, target: Target) -> str:
    """A call that a hostile provider answers."""
    model = secrets.choice(target.models)
    body = {"model": model, "messages": [{"role": "user", "content": "hello"}], "max_tokens": 50}
    streams = bool(secrets.randbits(1))
    return f"{model} " + await _ask(connection, target.key, body | {"stream": streams})


async def many_calls(connection: Connection, target: Target) -> str:
    """A call like any other, a millisecond of the server's time. There are only too many."""
    messages = [{"role": "user", "content": "script:tokens=2000"}]
    return await _ask(connection, target.key, {"model": SIMULATED, "messages": messages})


async def waiting_call(connection: Connection, target: Target) -> str:
    """A call that waits for a concurrent request of the workspace, which the good caller shares."""
    return await _chat(
        connection, target, f"script:tokens=1&first_ms={50 + secrets.randbelow(100)}"
    )


async def limited_call(connection: Connection, target: Target) -> str:
    """A call of a key that is far beyond its requests per minute."""
    body = {"model": target.model, "messages": [{"role": "user", "content": "hello"}]}
    return await _ask(connection, target.limited_key, body)


ANONYMOUS: tuple[Attack, ...] = (
    *(large_form, chunked_body, slow_head, missing_page, guessed_key, guessed_password),
)
WITH_KEYS: tuple[Attack, ...] = (
    *(pattern, hostile_file, held_upload, huge_picture, refusal, tiny_chunks),
)
WITH_DOCUMENTS: tuple[Attack, ...] = (document,)
BY_PROVIDERS: tuple[Attack, ...] = (hostile_provider,)
BY_A_NEIGHBOUR: tuple[Attack, ...] = (many_calls,)
BEYOND_LIMITS: tuple[Attack, ...] = (waiting_call, limited_call)


async def repeat(attack: Attack, target: Target, ended: Counter[str]) -> None:
    """Make attempt after attempt until cancelled, and count how they ended."""
    connection = Connection(target.port)
    try:
        while True:
            try:
                ended[await attack(connection, target)] += 1
            except ConnectionRefusedError:
                ended[REFUSED] += 1
                await asyncio.sleep(0.1)
            except OSError:
                connection.close()
                ended[CLOSED] += 1
    finally:
        connection.close()


async def _pour(
    connection: Connection, head: bytes, piece: bytes, most_bytes: int, patience_s: float = 15.0
) -> str:
    """Send the head, then pieces until an answer comes or so many bytes are out."""
    alive, sent = await connection.send(head), 0
    while alive and sent < most_bytes:
        piece = piece[: most_bytes - sent]
        alive = await connection.send(piece)
        sent += len(piece)
    ended = await connection.answer(patience_s)
    connection.close()
    return ended


async def _chat(connection: Connection, target: Target, content: object, **fields: object) -> str:
    messages = [{"role": "user", "content": content}]
    body = {"model": target.model, "messages": messages, "max_tokens": 20}
    return await _ask(connection, target.key, body | fields)


async def _ask(connection: Connection, key: str, body: object) -> str:
    data = json.dumps(body).encode()
    kind = "application/json"
    await connection.send(
        request("POST", CALLS, data, authorization=f"Bearer {key}", content_type=kind)
    )
    return await connection.answer(40.0)


@lru_cache
def _document(number: int) -> bytes:
    return DOCUMENTS[number]()


def _png(width: int, height: int) -> bytes:
    """Return a valid PNG's beginning and one row of it."""
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    pixels = zlib.compress(bytes(width + 1))
    parts = ((b"IHDR", head), (b"IDAT", pixels), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in parts
    )
