"""Streams that are translated, beside streams of one format, and embeddings: the gateway alone.

A stream of one format needs no translation. What a chunk costs more than there is the translation.
"""

from __future__ import annotations

from dataclasses import dataclass

from bench.caller import post_bytes, request_bytes
from bench.installation import EMBEDDINGS_MODEL, MODEL, MODEL_AT_ANTHROPIC
from bench.measures import Field, load, paced_fields, watch_paced
from bench.samples import Figures, median_of

EMBEDDED = ["The toll is paid at the gate.", "A second text, a little longer than the first."]
CONNECTIONS = 32


@dataclass(frozen=True)
class Route:
    """A format of callers, and a model of a dialect."""

    name: str
    path: str
    model: str


ROUTES = (
    Route("openai", "/v1/chat/completions", MODEL),
    Route("openai_to_anthropic", "/v1/chat/completions", MODEL_AT_ANTHROPIC),
    Route("anthropic_to_openai", "/v1/messages", MODEL),
    Route("anthropic", "/v1/messages", MODEL_AT_ANTHROPIC),
)


async def translated(field: Field) -> dict[str, Figures]:
    """400 streams at 20 chunks a second, each route in turn."""
    found: dict[str, list[Figures]] = {route.name: [] for route in ROUTES}
    for _ in range(field.plan.paced_rounds):
        for route in ROUTES:
            request = _stream_request(field, route)
            found[route.name].append(await watch_paced(field.plan, field.gateway, request))
    return {name: median_of(rounds) for name, rounds in found.items()}


def _stream_request(field: Field, route: Route) -> bytes:
    asked = paced_fields(field.plan)
    messages = [{"role": "user", "content": asked.pop("prompt")}]
    body = {"model": route.model, "messages": messages} | asked
    return post_bytes(field.gateway.port, field.key, route.path, body)


async def embeddings(field: Field) -> dict[str, Figures]:
    """32 connections that embed two texts a call, and as many that chat."""
    asked = {"model": EMBEDDINGS_MODEL, "input": EMBEDDED}
    port = field.gateway.port
    requests = {
        "embeddings": post_bytes(port, field.key, "/v1/embeddings", asked),
        "chat": request_bytes(port, field.key, MODEL),
    }
    found: dict[str, list[Figures]] = {name: [] for name in requests}
    for _ in range(field.plan.rounds):
        for name, request in requests.items():
            run = await load(field.gateway, request, CONNECTIONS, field.plan.buffered_s)
            found[name].append(run)
    return {name: median_of(rounds) for name, rounds in found.items()}
