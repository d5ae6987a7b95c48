"""What the fake upstream answers besides calls to models: its book, and a list of models.

GET /book             {"calls": […], "requests": n, "open_connections": n}
GET /book?id=a&id=b   the entries of these x-request-ids
DELETE /book          forget everything
POST /gates/a         let go on whoever waits, or will, before the gate `a`
GET /v1/models        one model; other addresses have it, too, but for those below

/keyed/v1 takes the key `sk-right` alone. /listless/v1 has no list of models; those of /page/v1,
/array/v1, /moved/v1 and /down/v1 are a page, a bare array, elsewhere, and out of order. Under
/nowhere/v1 there is nothing at all. /anthropic/v1 is Anthropic's API (tests/fakes/anthropic), with
any key; /keyed/anthropic/v1 takes the right one alone. /bedrock is Amazon Bedrock
(tests/fakes/bedrock), /sagemaker are endpoints of SageMaker (tests/fakes/sagemaker), and /tgi/v1 is
Text Generation Inference (tests/fakes/tgi.py). /gemini/v1beta and /keyed/gemini/v1beta are Google
AI Studio, and /vertex/v1/projects/p/locations/l is Vertex AI (tests/fakes/gemini).
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from urllib.parse import parse_qs, urlsplit

import msgspec

from tests.fakes.asked import Request
from tests.fakes.book import TokenBook
from tests.fakes.outgoing import head

RIGHT_KEY = "sk-right"
AUDIO = ("/audio/speech", "/audio/transcriptions", "/audio/translations")
OTHER_ENDPOINTS = (
    *("/completions", "/moderations", "/images/generations", "/rerank", "/responses"),
    *AUDIO,
)
MODEL = {"id": "fake", "object": "model", "created": 0, "owned_by": "fake"}
LISTS: Mapping[str, tuple[int, object]] = {
    "listless": (404, {"detail": "Not Found"}),
    "nowhere": (404, {"detail": "Not Found"}),
    "page": (200, "<!doctype html><title>Welcome</title>"),
    "array": (200, [MODEL]),
    "moved": (301, {}),
    "down": (503, {"error": {"message": f"Out of order: {RIGHT_KEY}"}}),
}


def has_chat(path: str) -> bool:
    return path.endswith("/chat/completions") and not path.startswith("/nowhere/")


def has_other_endpoint(path: str) -> bool:
    """Return whether one of tests/fakes/openai is meant."""
    is_chat = path.endswith("/chat/completions")
    return path.endswith(OTHER_ENDPOINTS) and not is_chat and not path.startswith("/nowhere/")


def is_anthropic(path: str) -> bool:
    """Return whether Anthropic's API is meant: /anthropic/v1/messages, /keyed/anthropic/v1, or on
    Vertex AI /v1/projects/p/locations/l/publishers/anthropic/models/m:rawPredict."""
    return "/anthropic/" in path


def is_cohere(path: str) -> bool:
    """Return whether Cohere's API is meant: /cohere/v2/chat, /embed and /rerank, also under
    /keyed."""
    return path.endswith(("/cohere/v2/chat", "/cohere/v2/embed", "/cohere/v2/rerank"))


def is_aws(path: str) -> bool:
    """Return whether Bedrock is meant, or an endpoint of SageMaker."""
    return path.removeprefix("/keyed").startswith(("/bedrock/", "/sagemaker/"))


def is_tgi(path: str) -> bool:
    return path.startswith("/tgi/")


def is_gemini(path: str) -> bool:
    """Return whether Gemini's API is meant, on AI Studio or on Vertex AI."""
    return "/gemini/" in path or ("/vertex/" in path and "/publishers/anthropic/" not in path)


def has_right_key(request: Request) -> bool:
    """Return whether the address takes the request's key."""
    if not request.path.startswith("/keyed/"):
        return True
    named = {name.lower(): value for name, value in request.headers}
    return named.get("authorization") == f"Bearer {RIGHT_KEY}"


def list_models(request: Request, path: str) -> tuple[int, object]:
    """Return the status and the body of an address's list of models."""
    if not has_right_key(request):
        said = dict(request.headers).get("authorization", "nothing")
        return 401, {"error": {"message": f"Incorrect API key provided: {said}"}}
    return LISTS.get(path.split("/", 2)[1], (200, {"object": "list", "data": [MODEL]}))


def answer_control(
    request: Request, book: TokenBook, gates: Mapping[str, asyncio.Event], open_connections: int
) -> bytes:
    """Return the whole response. `open_connections` counts the asker's own."""
    url = urlsplit(request.path)
    status = 200
    value: object
    if (request.method, url.path) == ("GET", "/book"):
        entries = book.find(set(parse_qs(url.query).get("id", [])))
        value = {
            "calls": [entry.as_json() for entry in entries],
            "requests": book.requests,
            "open_connections": open_connections,
        }
    elif (request.method, url.path) == ("DELETE", "/book"):
        book.clear()
        value = {"calls": []}
    elif request.method == "POST" and url.path.startswith("/gates/"):
        gates[url.path.removeprefix("/gates/")].set()
        value = {}
    elif request.method == "GET" and url.path.endswith("/models"):
        status, value = list_models(request, url.path)
    else:
        status = 404
        value = {"error": {"message": f"No {request.method} {url.path} here.", "code": "not_found"}}
    body = msgspec.json.encode(value)
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    return head(status, headers) + body
