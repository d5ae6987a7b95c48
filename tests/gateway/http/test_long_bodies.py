"""Long bodies are read beside the event loop, and what is in them in pieces."""

from __future__ import annotations

import asyncio
import base64
import threading
from typing import Any

import pytest

from gateway.core.errors import InvalidFile
from gateway.core.profiles import UNIFIED
from gateway.core.request import RequestHead
from gateway.http.long_bodies import LongBodies
from gateway.media.inline_data import PIECE_BYTES, PIECE_CHARS, read_inline_data, write_base64

HEAD = RequestHead(headers=[], peer="", fields={})
WAIT_S = 60


async def test_the_loop_goes_on_while_a_body_is_read() -> None:
    goes_on = threading.Event()

    class Endpoint:
        def read(self, body: bytes, head: RequestHead, profile: Any) -> Any:
            return goes_on.wait(WAIT_S)

    reading = asyncio.ensure_future(LongBodies().read(Endpoint(), b"", HEAD, UNIFIED))
    await asyncio.sleep(0)
    goes_on.set()

    assert str(await reading) == "True"


SIZES = [1, 2, 3, PIECE_BYTES - 1, PIECE_BYTES, PIECE_BYTES + 1, 3 * PIECE_BYTES + 2]


@pytest.mark.parametrize("size", SIZES)
def test_base64_is_read_and_written_in_pieces(size: int) -> None:
    content = (b"\x00\xff~abc" * size)[:size]
    encoded = base64.b64encode(content).decode()
    broken_up = "\n".join(encoded[at : at + 76] for at in range(0, len(encoded), 76)) + "\n"

    assert write_base64(content) == encoded
    assert read_inline_data(encoded, "p") == ("", content, True)
    assert read_inline_data(broken_up, "p") == ("", content, False)


def test_padding_between_pieces_is_no_base64() -> None:
    piece = "QUJD" * (PIECE_CHARS // 4 - 1) + "QQ=="

    for text in (piece + piece, piece[:-1], "é", "QQ=Q", "", "\n"):
        with pytest.raises(InvalidFile):
            read_inline_data(text, "p")
