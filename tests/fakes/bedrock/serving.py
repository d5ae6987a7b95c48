"""Where the fake upstream meets Bedrock and SageMaker: reads a request, and refuses it or plays it.

POST /bedrock/model/{id}/converse and /converse-stream, for Claude /invoke and
/invoke-with-response-stream, for embeddings /invoke. Any API key will do, under /keyed/ the right
one alone; a signature has to be right everywhere. sagemaker.py has the addresses of endpoints.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

import msgspec

from tests.fakes.asked import Chat, Request
from tests.fakes.bedrock import anthropic as invoked
from tests.fakes.bedrock import sagemaker, texts
from tests.fakes.bedrock.asked import read_chat
from tests.fakes.bedrock.player import EVENT_STREAM, ConversePlayer
from tests.fakes.bedrock.refused import Refused
from tests.fakes.bedrock.requests import refuse_body
from tests.fakes.bedrock.signatures import WrongSignature, check_signature
from tests.fakes.book import Entry
from tests.fakes.outgoing import Link
from tests.fakes.player import Player
from tests.fakes.routes import RIGHT_KEY
from tests.fakes.texts import player_of as text_player_of

__all__ = ["Refused", "player_of", "refusal"]
REGION = "eu-central-1"
OPERATIONS = {"converse": "Converse", "converse-stream": "ConverseStream"}


def player_of(link: Link, request: Request, entry: Entry, serial: int) -> Player:
    """Return what plays the answer. Raises Refused and ScriptError."""
    _, _, rest = request.path.partition("/model/")
    model, _, operation = rest.rpartition("/")
    model = unquote(model)
    if texts.is_meant(model, operation):
        refuse_caller(request, "bedrock")
        asked = texts.read_asked(read_object(request.body), model)
        return text_player_of(link, request, asked, entry, serial)
    chat = _read_chat(request)
    script = chat.script()
    entry.note(chat.model, chat.count_words(), script, stream=bool(chat.stream))
    return _player_for(request)(link, request, chat, script, entry, serial)


def _read_chat(request: Request) -> Chat:
    if sagemaker.is_meant(request.path):
        refuse_caller(request, "sagemaker")
        return sagemaker.read_body(request, read_object(request.body))
    refuse_caller(request, "bedrock")
    _, _, rest = request.path.partition("/model/")
    model, _, operation = rest.rpartition("/")
    if operation not in OPERATIONS | invoked.OPERATIONS or "/" in model or not model:
        raise Refused(f"No {request.path} here.", 404, "UnknownOperationException")
    is_stream = operation.endswith("-stream")
    accepted = dict(request.headers).get("accept", "*/*")
    if accepted not in ("*/*", EVENT_STREAM if is_stream else "application/json"):
        raise Refused(f"Not acceptable: {accepted}")
    body = read_object(request.body)
    model = unquote(model)
    if operation in invoked.OPERATIONS:
        return invoked.read_body(body, model, size_bytes=len(request.body), stream=is_stream)
    refuse_body(OPERATIONS[operation], body, model)
    return read_chat(body, model, stream=is_stream)


def _player_for(request: Request) -> type[Player]:
    if sagemaker.is_meant(request.path):
        return sagemaker.HostedPlayer
    is_invoked = request.path.rpartition("/")[2] in invoked.OPERATIONS
    return invoked.InvokedPlayer if is_invoked else ConversePlayer


def refuse_caller(request: Request, service: str) -> None:
    """Raise Refused unless the request shows who asks."""
    shown = {name.lower(): value for name, value in request.headers}.get("authorization", "")
    if shown.startswith("Bearer {"):
        raise Refused("Access keys were sent as they are.", 500)
    if shown.startswith("Bearer ") and service == "bedrock":
        if request.path.startswith("/keyed/") and shown != f"Bearer {RIGHT_KEY}":
            raise Refused(f"Invalid API Key format: {shown}", 403)
        return
    try:
        check_signature(request, region=REGION, service=service)
    except WrongSignature as error:
        raise Refused(str(error), 403, "InvalidSignatureException") from None


def read_object(body: bytes) -> dict[str, Any]:
    try:
        found: dict[str, Any] = msgspec.json.decode(body, type=dict)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Refused(f"The request body is not valid JSON: {error}") from None
    return found


def refusal(error: Refused) -> tuple[dict[str, object], list[tuple[bytes, bytes]]]:
    """Return the body of a refusal, and its headers."""
    return error.body(), [(b"x-amzn-errortype", f"{error.name}:".encode())]
