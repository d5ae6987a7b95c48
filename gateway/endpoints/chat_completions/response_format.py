"""response_format with a schema: its older spelling in the usual one, and no reference abroad.

TensorZero's deprecated form has the schema itself where OpenAI has an object around it.
"""

from __future__ import annotations

import msgspec

from gateway.core.errors import RequestError
from gateway.endpoints.chat_completions.schema import ResponseJsonSchema

PATH = "response_format.json_schema"
# What a schema by itself is known by; the object around one has none of these.
KEYWORDS = frozenset(
    {"$ref", "allOf", "anyOf", "const", "enum", "items", "oneOf", "properties", "type"}
)
_raw_decoder = msgspec.json.Decoder(dict[str, msgspec.Raw])


def read_format(wanted: ResponseJsonSchema, raw: bytes) -> bytes:
    """Return the member as it goes upstream. raw: as the caller wrote it.

    Raises RequestError for a format without a name or schema, and for a schema that refers to
    another place: nothing is fetched for a caller.
    """
    given = wanted.json_schema
    if given.name is None and given.schema is None:
        bare = bytes(_raw_decoder.decode(raw)["json_schema"])
        schema = msgspec.json.decode(bare)
        if KEYWORDS.isdisjoint(schema):
            raise RequestError(f"{PATH}.name is required.", param=f"{PATH}.name")
        _check_references(schema, PATH)
        around = b'{"type":"json_schema","json_schema":{"name":"response","schema":'
        return around + bare + b"}}"
    for name in ("name", "schema"):
        if getattr(given, name) is None:
            raise RequestError(f"{PATH}.{name} is required.", param=f"{PATH}.{name}")
    _check_references(given.schema, f"{PATH}.schema")
    return raw


def _check_references(schema: object, param: str) -> None:
    pending = [schema]
    while pending:
        part = pending.pop()
        if isinstance(part, dict):
            reference = part.get("$ref")
            if isinstance(reference, str) and not reference.startswith("#"):
                raise RequestError("$ref can only refer to the same schema.", param=param)
            pending += part.values()
        elif isinstance(part, list):
            pending += part
