"""Where the fake upstream meets the Gemini API: reads a request, and refuses it or plays it.

/gemini/v1beta is Google AI Studio's address; /vertex/v1/projects/p/locations/l is Vertex AI's.
"""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import unquote

import msgspec

from tests.fakes.asked import Chat, Request
from tests.fakes.book import Entry
from tests.fakes.gemini import texts
from tests.fakes.gemini.asked import read_chat
from tests.fakes.gemini.player import GeminiPlayer
from tests.fakes.gemini.refused import Refused, error_body
from tests.fakes.gemini.requests import refuse_body, refuse_caller
from tests.fakes.outgoing import Link
from tests.fakes.player import Player
from tests.fakes.routes import RIGHT_KEY
from tests.fakes.texts import player_of as text_player_of

__all__ = ["Refused", "list_models", "player_of", "refusal"]
METHOD = re.compile(
    r"/(?:models|publishers/google/models|endpoints)/([^/:]+):(generateContent|streamGenerateContent)"
    r"(\?alt=sse)?"
)


def player_of(link: Link, request: Request, entry: Entry, serial: int) -> Player:
    """Return what plays the answer. Raises Refused and ScriptError."""
    is_vertex = _refuse_caller(request)
    found = texts.METHOD.search(request.path)
    if request.method == "POST" and found is not None:
        asked = texts.read_asked(
            _read_body(request), unquote(found[1]), found[2], is_vertex=is_vertex
        )
        return text_player_of(link, request, asked, entry, serial)
    chat = _read_chat(request, is_vertex=is_vertex)
    script = chat.script()
    entry.note(chat.model, chat.count_words(), script, stream=bool(chat.stream))
    return GeminiPlayer(link, request, chat, script, entry, serial)


def _read_chat(request: Request, *, is_vertex: bool) -> Chat:
    found = METHOD.search(request.path)
    if request.method != "POST" or found is None:
        raise Refused("Requested entity was not found.", 404)
    stream = found[2] == "streamGenerateContent"
    if stream and not found[3]:
        raise Refused("This upstream speaks server-sent events alone: ask with alt=sse.")
    body, name = _read_body(request), unquote(found[1])
    refuse_body(body, name, is_vertex=is_vertex)
    return read_chat(body, name, stream=stream)


def _read_body(request: Request) -> dict[str, Any]:
    try:
        body: dict[str, Any] = msgspec.json.decode(request.body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Refused(f"Invalid JSON payload received. {error}") from None
    return body


def _refuse_caller(request: Request) -> bool:
    """Raise Refused for a caller that is not let in. Return whether it is Vertex AI's address."""
    is_vertex = "/vertex/" in request.path
    right_key = RIGHT_KEY if request.path.startswith("/keyed/") else None
    named = {name.lower(): value for name, value in request.headers}
    refuse_caller(named, right_key, is_vertex=is_vertex)
    return is_vertex


def list_models(request: Request) -> tuple[int, object]:
    """Return the status and the body of the list of models."""
    try:
        _refuse_caller(request)
    except Refused as error:
        return error.status, refusal(error)
    return 200, {"models": [{"name": "models/gemini-2.5-flash", "displayName": "Gemini 2.5 Flash"}]}


def refusal(error: Refused) -> dict[str, Any]:
    return error_body(error.status, error.message, details=error.details)
