"""What an endpoint says of itself in the OpenAPI document (gateway.api.openapi)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from gateway.core.json_types import JsonObject

# By the names of their types.
Schemas = dict[str, JsonObject]


def nothing_more(schemas: Schemas) -> None:
    """Of a request that its types say everything about."""


class EndpointDescription(msgspec.Struct, frozen=True, kw_only=True):
    """Beside its name, paths and scope."""

    operation_id: str
    # In a few words, as a title.
    summary: str
    # What the answer is, in words.
    answer: str
    # Their names are those in the document, and no two types of it have the same name.
    # The types of a request's body, of a buffered answer and of the events of a stream; no events
    # for an endpoint without streams.
    request: type[msgspec.Struct]
    response: type[msgspec.Struct]
    # Media types that it can have.
    response_types: tuple[str, ...] = ("application/json",)
    events: tuple[type[msgspec.Struct], ...] = ()
    # Further types that the rules of `complete` refer to.
    parts: tuple[type[msgspec.Struct], ...] = ()
    # Bodies that the built-in simulated model answers, by name.
    examples: Mapping[str, JsonObject]
    # What its answer leads to, as OpenAPI's links by name.
    links: Mapping[str, JsonObject] = msgspec.field(default_factory=dict)
    # Adds to the schemas of the request and of its parts what types cannot say and JSON Schema can:
    # nothing but what the endpoint enforces.
    complete: Callable[[Schemas], None] = nothing_more

    @property
    def types(self) -> list[type[msgspec.Struct]]:
        """What the endpoint reads and answers."""
        return [self.request, *self.parts, self.response, *self.events]
