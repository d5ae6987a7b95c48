"""The OpenAPI document, laid out for reading: what the reference page shows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gateway.core.json_types import JsonObject


@dataclass(frozen=True, slots=True)
class Field:
    """A parameter or a member. where: header, query, path or body."""

    name: str
    where: str
    kind: str
    is_required: bool
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One method of one address. failures: (status, lines of `code: meaning`)."""

    method: str
    path: str
    anchor: str
    title: str
    text: str
    fields: tuple[Field, ...]
    answer: str
    failures: tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True, slots=True)
class Shape:
    """A type that others refer to by name."""

    name: str
    text: str
    fields: tuple[Field, ...]


def endpoints(document: JsonObject) -> tuple[Endpoint, ...]:
    return tuple(
        _endpoint(document, path, method, operation)
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
    )


def shapes(document: JsonObject) -> tuple[Shape, ...]:
    schemas = document["components"]["schemas"]
    return tuple(
        Shape(name, schema.get("description", ""), tuple(_members(schema)))
        for name, schema in sorted(schemas.items())
        if schema.get("properties")
    )


def _endpoint(document: JsonObject, path: str, method: str, operation: JsonObject) -> Endpoint:
    fields = [_parameter(parameter) for parameter in operation.get("parameters", ())]
    body = operation.get("requestBody")
    if body is not None:
        [content] = body["content"].values()
        fields += _members(_resolve(document, content["schema"]))
    responses = operation["responses"]
    answers = responses["200"].get("content", {})
    names = dict.fromkeys(kind_of(shown.get("schema", {})) for shown in answers.values())
    return Endpoint(
        method=method.upper(),
        path=path,
        anchor=operation["operationId"],
        title=operation.get("summary") or operation.get("description", "").split(".")[0],
        text=operation.get("description", ""),
        fields=tuple(fields),
        answer=" or ".join(names),
        failures=tuple(
            (status, tuple(line.removeprefix("- ") for line in said["description"].splitlines()))
            for status, said in sorted(responses.items())
            if status != "200"
        ),
    )


def _parameter(parameter: JsonObject) -> Field:
    return Field(
        parameter["name"],
        parameter["in"],
        kind_of(parameter.get("schema", {})),
        bool(parameter.get("required")),
        parameter.get("description", ""),
    )


def _members(schema: JsonObject) -> Iterator[Field]:
    required = set(schema.get("required", ()))
    for name, part in schema.get("properties", {}).items():
        yield Field(name, "body", kind_of(part), name in required, part.get("description", ""))


def _resolve(document: JsonObject, schema: JsonObject) -> JsonObject:
    name = schema["$ref"].rpartition("/")[2]
    found: JsonObject = document["components"]["schemas"][name]
    return found


def kind_of(schema: JsonObject) -> str:
    """Return a schema in a few words: `integer 0 to 20`, `list of Message`, `text or null`."""
    if "$ref" in schema:
        return str(schema["$ref"].rpartition("/")[2])
    for name in ("anyOf", "oneOf"):
        if name in schema:
            parts = [kind_of(part) for part in schema[name] if not _is_nothing(part)]
            return " or ".join(dict.fromkeys(parts))
    if "enum" in schema:
        return ", ".join(str(value) for value in schema["enum"])
    kind = schema.get("type", "anything")
    if kind == "array":
        return f"list of {kind_of(schema.get('items', {}))}"
    words = {"string": "text", "boolean": "true or false", "object": "object"}
    return f"{words.get(kind, kind)}{_range(schema)}"


def _is_nothing(schema: JsonObject) -> bool:
    """True for null and for the empty text, which mean that the field is not set."""
    return schema.get("type") == "null" or schema.get("maxLength") == 0


def _range(schema: JsonObject) -> str:
    least = schema.get("minimum", schema.get("exclusiveMinimum"))
    most = schema.get("maximum", schema.get("exclusiveMaximum"))
    if least is not None and most is not None:
        return f" {least} to {most}"
    if least is not None:
        return f" from {least}"
    if "maxLength" in schema:
        return f" of at most {schema['maxLength']} characters"
    return ""
