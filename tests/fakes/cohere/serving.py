"""Where the fake upstream meets Cohere's API: reads a request, and refuses it or plays it."""

from __future__ import annotations

from typing import Any

import msgspec

from tests.fakes import texts
from tests.fakes.asked import Chat, Message, Request
from tests.fakes.book import Entry
from tests.fakes.cohere.player import CoherePlayer
from tests.fakes.cohere.requests import Refused, refuse_body
from tests.fakes.cohere.texts import read_asked
from tests.fakes.outgoing import Link
from tests.fakes.player import Player
from tests.fakes.routes import has_right_key

__all__ = ["Refused", "player_of"]


class Asked(msgspec.Struct):
    """What was asked, and whether answers cite documents."""

    chat: Chat
    cites: bool


def player_of(link: Link, request: Request, entry: Entry, serial: int) -> Player:
    """Return what plays the answer. Raises Refused and ScriptError."""
    body = _read_body(request)
    if not request.path.endswith("/chat"):
        return texts.player_of(link, request, read_asked(request.path, body), entry, serial)
    asked = _read_chat(body)
    chat, script = asked.chat, asked.chat.script()
    entry.note(chat.model, chat.count_words(), script, stream=bool(chat.stream))
    player = CoherePlayer(link, request, chat, script, entry, serial)
    player.cites = asked.cites
    return player


def _read_body(request: Request) -> dict[str, Any]:
    named = {name.lower(): value for name, value in request.headers}
    if not named.get("authorization", "").startswith("Bearer ") or not has_right_key(request):
        raise Refused("invalid api token", 401)
    try:
        body: dict[str, Any] = msgspec.json.decode(request.body, type=dict)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Refused(f"invalid request: {error}") from None
    return body


def _read_chat(body: dict[str, Any]) -> Asked:
    refuse_body(body)
    form = body.get("response_format") or {}
    schema = form.get("json_schema")
    wanted = {"type": "json_schema", "json_schema": {"schema": schema}} if schema else None
    chat = Chat(
        model=body["model"],
        messages=[
            Message(message["role"], message.get("content", "")) for message in body["messages"]
        ],
        stream=body.get("stream"),
        max_tokens=body.get("max_tokens"),
        tools=body.get("tools"),
        response_format=wanted,
    )
    return Asked(chat, bool(body.get("documents")))
