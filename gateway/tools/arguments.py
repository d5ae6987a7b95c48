"""The arguments of a tool as a type, and the JSON Schema that its model gets of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import msgspec
from msgspec import Struct

from gateway.core.json_types import JsonObject
from gateway.tools.base import ToolFailed

A = TypeVar("A", bound=Struct)


def schema_of(kind: type[Struct]) -> JsonObject:
    """Return the schema of an object without references, as models read it."""
    (schema,), parts = msgspec.json.schema_components([kind], ref_template="#/{name}")
    found: JsonObject = parts[kind.__name__] if "$ref" in schema else schema
    return {key: value for key, value in found.items() if key not in ("title", "description")}


def read_arguments(given: Mapping[str, object], kind: type[A]) -> A:
    """Return the arguments as their type. Raises ToolFailed with what is wrong, for the model."""
    try:
        return msgspec.convert(given, kind)
    except msgspec.ValidationError as error:
        raise ToolFailed(f"The arguments are not valid. {error}") from None
