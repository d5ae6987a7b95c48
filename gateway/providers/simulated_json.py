"""A value that fits a JSON Schema, the same every time: what the simulated model answers."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice

import msgspec

from gateway.core.json_types import JsonValue

MAX_DEPTH = 16
# A schema may multiply: lists of lists, or parts that refer to each other.
MAX_VALUES = 1_000
# What copying a constant out of the schema counts for, in values.
BYTES_PER_VALUE = 64
MAX_REFERENCE_CHARS = 512
MAX_TEXT_CHARS = 40


def fill_schema(schema: object) -> object:
    """Return a small value for the parts of JSON Schema that structured outputs use.

    Knows const, enum, default, anyOf/oneOf/allOf (the first), local $ref, type, properties,
    items. What it does not know counts as an empty object; depth and size are bounded. What is
    no schema may raise whatever comes of it (gateway.providers.simulated.MALFORMED).
    """
    return _Filler(schema).fill(schema, 0)


class _Filler:
    def __init__(self, root: object) -> None:
        self._root = root
        self._values_left = MAX_VALUES

    def fill(self, schema: object, depth: int) -> object:
        self._values_left -= 1
        if not isinstance(schema, Mapping) or depth > MAX_DEPTH or self._values_left < 0:
            return {}
        for name in ("const", "default"):
            if name in schema:
                return self._copy(schema[name])
        if schema.get("enum"):
            return self._copy(schema["enum"][0])
        if "$ref" in schema:
            return self.fill(self._look_up(str(schema["$ref"])), depth + 1)
        for name in ("anyOf", "oneOf", "allOf"):
            if schema.get(name):
                return self.fill(schema[name][0], depth + 1)
        kind = schema.get("type", "object")
        if isinstance(kind, list):
            kind = kind[0] if kind else "null"
        return self._fill_kind(str(kind), schema, depth)

    def _copy(self, value: object) -> object:
        self._values_left -= len(msgspec.json.encode(value)) // BYTES_PER_VALUE
        return value

    def _look_up(self, reference: str) -> object:
        if len(reference) > MAX_REFERENCE_CHARS:
            raise ValueError("This is no reference.")
        found: object = self._root
        for step in reference.removeprefix("#/").split("/"):
            found = found.get(step) if isinstance(found, Mapping) else None
        return found

    def _fill_kind(self, kind: str, schema: Mapping[str, JsonValue], depth: int) -> object:
        if kind == "object":
            parts = schema.get("properties") or {}
            # No more than there are values left: what refers to itself multiplies what it has.
            some = islice(parts.items(), max(self._values_left, 0))
            return {name: self.fill(part, depth + 1) for name, part in some}
        if kind == "array":
            item = schema.get("items") or {"type": "string"}
            count = min(max(int(schema.get("minItems") or 1), 1), 10)
            return [self.fill(item, depth + 1) for _ in range(count)]
        if kind == "string":
            said = schema.get("title") or schema.get("description")
            return said[:MAX_TEXT_CHARS] if isinstance(said, str) else "text"
        if kind == "integer":
            return int(schema.get("minimum") or 1)
        if kind == "number":
            return float(schema.get("minimum") or 1.5)
        return True if kind == "boolean" else None
