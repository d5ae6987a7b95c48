"""The schema of an answer as Anthropic takes it: its objects are closed.

Reference: https://platform.claude.com/docs/en/build-with-claude/structured-outputs
"""

from __future__ import annotations


def close_objects(schema: object) -> object:
    """Return the schema with additionalProperties false in every object that does not say."""
    if isinstance(schema, list):
        return [close_objects(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {name: _close(name, part) for name, part in schema.items()}
    kinds = closed.get("type")
    is_object = "object" in kinds if isinstance(kinds, list) else kinds == "object"
    if is_object and "additionalProperties" not in closed:
        closed["additionalProperties"] = False
    return closed


def _close(name: str, part: object) -> object:
    # What is an example of a value is no schema, whatever it looks like.
    return part if name in ("const", "default", "enum", "examples") else close_objects(part)
