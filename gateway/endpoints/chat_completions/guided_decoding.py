"""Guided decoding (gateway contract, section 6.4): what the parameters must look like.

Both of vLLM's spellings are taken: guided_json and its siblings, and structured_outputs with
json, regex, choice, grammar, structural_tag and whitespace_pattern inside. At most one
constraint may be given. Nothing of a caller's is compiled here, as the time that takes has no
bound: expressions and grammars are bounded in length, and the provider judges what they say.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from gateway.core.errors import RequestError

CONSTRAINTS: Mapping[str, str] = {
    "guided_json": "json",
    "guided_regex": "regex",
    "guided_choice": "choice",
    "guided_grammar": "grammar",
    "structural_tag": "structural_tag",
}
OTHERS = frozenset({"guided_decoding_backend", "guided_whitespace_pattern", "structured_outputs"})
INSIDE = frozenset({*CONSTRAINTS.values(), "whitespace_pattern"})
NAMES = OTHERS | CONSTRAINTS.keys()
OBJECTS = ("chat_template_kwargs", "mm_processor_kwargs")
BACKENDS = frozenset({"auto", "xgrammar", "guidance", "outlines", "lm-format-enforcer"})
SCHEMA_TYPES = frozenset({"object", "array", "string", "number", "integer", "boolean", "null"})
MAX_PATTERN_CHARS = 4096
MAX_GRAMMAR_CHARS = 64 * 1024


def check(members: Mapping[str, bytes], *, wants_format: bool) -> None:
    """Return when the guided parameters make sense together.

    members: the top-level members as raw JSON. wants_format: the caller also gave a
    response_format other than text. Raises RequestError naming the parameter.
    """
    given = {
        name: msgspec.json.decode(members[name])
        for name in sorted(NAMES.intersection(members))
        if members[name] != b"null"
    }
    constraints = [name for name in given if name in CONSTRAINTS]
    if "structured_outputs" in given:
        constraints += _check_object(given["structured_outputs"])
    if len(constraints) > 1:
        raise RequestError(
            f"Only one of {', '.join(constraints)} can be set.", param=constraints[1]
        )
    if constraints and wants_format:
        raise RequestError(
            f"{constraints[0]} and response_format cannot both be set.", param=constraints[0]
        )
    for name, value in given.items():
        if name != "structured_outputs":
            _CHECKS[CONSTRAINTS.get(name, name)](name, value)


def check_objects(members: Mapping[str, bytes]) -> None:
    """Raise RequestError when a parameter that has to be an object, or a text, is not."""
    for name in OBJECTS:
        if name in members and members[name][:1] not in (b"{", b"n"):
            raise RequestError(f"{name} must be an object.", param=name)
    if "chat_template" in members and members["chat_template"][:1] not in (b'"', b"n"):
        raise RequestError("chat_template must be a string.", param="chat_template")


def _check_object(value: object) -> list[str]:
    """Check structured_outputs; return the constraints inside it, as paths."""
    if not isinstance(value, dict):
        raise RequestError("structured_outputs must be an object.", param="structured_outputs")
    found = []
    for name, part in value.items():
        path = f"structured_outputs.{name}"
        if name not in INSIDE:
            raise RequestError(f"Unknown parameter: {path}.", param=path)
        if part is not None:
            _CHECKS[name](path, part)
            if name != "whitespace_pattern":
                found.append(path)
    return found


def _check_json(name: str, value: object) -> None:
    if isinstance(value, str):
        value = _decode_text(name, value)
    if not isinstance(value, dict):
        raise RequestError(f"{name} must be a JSON Schema.", param=name)
    _check_schema(name, value)


def _check_schema(name: str, schema: dict[str, object]) -> None:
    kinds = schema.get("type", [])
    for kind in kinds if isinstance(kinds, list) else [kinds]:
        if not isinstance(kind, str) or kind not in SCHEMA_TYPES:
            raise RequestError(f"{name} is not a valid JSON Schema: type {kind!r}.", param=name)
    properties = schema.get("properties", {})
    if not isinstance(properties, dict):
        raise RequestError(f"{name} is not a valid JSON Schema: properties.", param=name)
    reference = schema.get("$ref", "#")
    if not isinstance(reference, str) or not reference.startswith("#"):
        raise RequestError(f"{name} can only refer to itself, not to {reference!r}.", param=name)
    for part in (*properties.values(), schema.get("items")):
        if isinstance(part, dict):
            _check_schema(name, part)


def _check_regex(name: str, value: object) -> None:
    _check_text(name, value, MAX_PATTERN_CHARS)


def _check_choice(name: str, value: object) -> None:
    if not isinstance(value, list) or not value or not all(isinstance(v, str) for v in value):
        raise RequestError(f"{name} must be an array of at least one string.", param=name)


def _check_text(name: str, value: object, max_chars: int = MAX_GRAMMAR_CHARS) -> None:
    if not isinstance(value, str) or not value:
        raise RequestError(f"{name} must be a non-empty string.", param=name)
    if len(value) > max_chars:
        raise RequestError(f"{name} is longer than {max_chars} characters.", param=name)


def _check_tag(name: str, value: object) -> None:
    if isinstance(value, str):
        value = _decode_text(name, value)
    if not isinstance(value, dict):
        raise RequestError(f"{name} must be an object or its JSON text.", param=name)


def _check_backend(name: str, value: object) -> None:
    if not isinstance(value, str) or value.partition(":")[0] not in BACKENDS:
        raise RequestError(f"{name} must be one of {', '.join(sorted(BACKENDS))}.", param=name)


def _decode_text(name: str, text: str) -> object:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        raise RequestError(f"{name} is not valid JSON.", param=name) from None


_CHECKS: Mapping[str, Callable[[str, object], None]] = {
    "json": _check_json,
    "regex": _check_regex,
    "choice": _check_choice,
    "grammar": _check_text,
    "structural_tag": _check_tag,
    "whitespace_pattern": _check_regex,
    "guided_whitespace_pattern": _check_regex,
    "guided_decoding_backend": _check_backend,
}
