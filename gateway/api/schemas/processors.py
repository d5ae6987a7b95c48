"""The processors that a call can name, as the API shows them."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from gateway.core.json_types import JsonObject
from gateway.processors.base import Processor


class ProcessorEntry(Struct, kw_only=True):
    id: Annotated[str, Meta(description="Its name in inferada.processors.")]
    object: Literal["processor"]
    description: str
    scope: Annotated[
        str, Meta(description="The scope that the API key needs, unless options change it.")
    ]
    needs_language: Annotated[
        bool, Meta(description="inferada.language is required, unless options change it.")
    ]
    languages: Annotated[
        list[str], Meta(description="Those that inferada.language can name. Empty for any.")
    ]
    mandatory: Annotated[
        bool, Meta(description="Calls of this API key go through it whatever they say.")
    ]
    options: Annotated[
        JsonObject | None,
        Meta(description="The JSON Schema of its member of inferada. Null without options."),
    ]


class ProcessorList(Struct):
    object: Literal["list"]
    data: Annotated[list[ProcessorEntry], Meta(description="In the order in which they run.")]


def write_processors(processors: Iterable[Processor], required: Container[str]) -> ProcessorList:
    """required: the names of those that are mandatory for the key."""
    entries = [write_processor(one, mandatory=one.name in required) for one in processors]
    return ProcessorList("list", entries)


def write_processor(processor: Processor, *, mandatory: bool) -> ProcessorEntry:
    return ProcessorEntry(
        id=processor.name,
        object="processor",
        description=processor.description,
        scope=processor.scope,
        needs_language=processor.needs_language,
        languages=sorted(processor.languages),
        mandatory=mandatory,
        options=None if processor.options is None else write_schema(processor.options),
    )


def write_schema(options: type[Struct]) -> JsonObject:
    """Return the JSON Schema of a type in one piece."""
    _, found = msgspec.json.schema_components([options], ref_template="#/$defs/{name}")
    schema: JsonObject = dict(found.pop(options.__name__))
    return {**schema, "$defs": found} if found else schema
