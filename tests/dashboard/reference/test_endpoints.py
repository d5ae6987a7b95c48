"""Schemas as the reference page words them."""

from __future__ import annotations

import pytest

from dashboard.reference.endpoints import kind_of
from gateway.core.json_types import JsonObject


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "text"),
        ({"anyOf": [{"type": "string", "maxLength": 0}, {"type": "string"}]}, "text"),
        ({"type": "array", "items": {"$ref": "#/components/schemas/Message"}}, "list of Message"),
        ({"type": "integer", "minimum": 0, "maximum": 20}, "integer 0 to 20"),
    ],
)
def test_a_schema_is_worded_by_what_may_be_sent(schema: JsonObject, words: str) -> None:
    assert kind_of(schema) == words
