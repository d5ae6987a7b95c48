"""The tree that a call attaches for haystack: its flags, its texts, and how a model reads it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple

import yaml

from gateway.core.errors import RequestError
from gateway.core.json_types import JsonObject, JsonValue

Format = Literal["yaml", "json", "markdown", "none"]
# What a flag may name: the type in a placeholder.
_TYPE = re.compile(r"[A-Z][A-Z0-9_]{0,47}")
# Of JSON Schema: these lead on, the others may stand there and say nothing here.
_LEADING = ("properties", "items", "additionalProperties")
_IGNORED = frozenset(
    {
        *("$schema", "$id", "$comment", "type", "title", "description", "format", "pattern"),
        *("enum", "const", "examples", "default", "required", "nullable", "deprecated"),
        *("minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "uniqueItems"),
    }
)
# What a flagged leaf is called whose flag names no type.
PLAIN_TYPE = "VALUE"
# Numbers of fewer digits identify nobody.
MIN_DIGITS = 7
Flag = bool | str | None


class Leaf(NamedTuple):
    """A value of the tree: container[key]. flag: what the schema says of it; None for nothing."""

    container: JsonValue
    key: str | int
    flag: Flag

    @property
    def text(self) -> str:
        return text_of(self.container[self.key])


def check_schema(schema: JsonValue, path: str) -> bool:
    """Return whether a schema has a flag to redact. Raises RequestError for what is no schema."""
    if not isinstance(schema, dict):
        raise RequestError(f"{path} must be an object.", param=path)
    found = False
    for name, value in schema.items():
        where = f"{path}.{name}"
        if name == "redact":
            found |= _check_flag(value, where)
        elif name == "properties":
            if not isinstance(value, dict):
                raise RequestError(f"{where} must be an object.", param=where)
            for key, inner in value.items():
                found |= check_schema(inner, f"{where}.{key[:64]}")
        elif name in _LEADING:
            found |= not isinstance(value, bool) and check_schema(value, where)
        elif name not in _IGNORED:
            raise RequestError(f"{where[:200]} is not known.", param=where[:200])
    return found


def _check_flag(value: JsonValue, path: str) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and _TYPE.fullmatch(value):
        return True
    raise RequestError(
        f"{path} must be true, false, or a type in capital letters, such as PERSON.", param=path
    )


def leaves_of(tree: list[JsonValue], schema: JsonObject) -> Iterator[Leaf]:
    """Yield every value in the order of the tree, which stands in a list by itself. A flag holds
    for all below it that has none of its own."""
    pending: list[tuple[JsonValue, str | int, JsonValue, Flag]] = [(tree, 0, schema, None)]
    while pending:
        container, key, said, flag = pending.pop()
        value = container[key]
        said = said if isinstance(said, dict) else {}
        flag = said.get("redact", flag)
        if isinstance(value, dict):
            named, other = said.get("properties") or {}, said.get("additionalProperties")
            inner = [(value, name, named.get(name, other), flag) for name in value]
            pending += reversed(inner)
        elif isinstance(value, list):
            items = said.get("items")
            pending += [(value, index, items, flag) for index in reversed(range(len(value)))]
        elif value is not None:
            yield Leaf(container, key, flag)


def is_searched(value: JsonValue) -> bool:
    """True for a value that may be a personal datum."""
    if isinstance(value, bool) or value in ("", None):
        return False
    return isinstance(value, str) or (isinstance(value, int) and len(str(abs(value))) >= MIN_DIGITS)


def text_of(value: JsonValue) -> str:
    """Return a value as a text says it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


def write_tree(tree: JsonValue, form: Format, write_json: Callable[[JsonValue], str]) -> str:
    """Return the tree as a model reads it. Its texts cannot end the block."""
    if form == "json":
        written = write_json(tree)
    elif form == "markdown":
        written = "\n".join(_lines(tree, 0))
    else:
        written = yaml.dump(
            tree, Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=10**9
        ).removesuffix("...\n")
    written = written.replace("</haystack", "<\\/haystack")
    return f'<haystack format="{form}">\n{written.strip()}\n</haystack>'


class _Dumper(yaml.CSafeDumper):
    def ignore_aliases(self, data: object) -> bool:
        return True


def _lines(value: JsonValue, depth: int) -> Iterator[str]:
    """Yield nested lists."""
    lead = "  " * depth + "- "
    if isinstance(value, dict):
        for name, inner in value.items():
            if isinstance(inner, dict | list):
                yield f"{lead}**{name}**"
                yield from _lines(inner, depth + 1)
            else:
                yield f"{lead}**{name}**: {_line(inner)}"
    elif isinstance(value, list):
        for index, inner in enumerate(value, 1):
            if isinstance(inner, dict | list):
                yield f"{lead}{index}"
                yield from _lines(inner, depth + 1)
            else:
                yield lead + _line(inner)
    else:
        yield _line(value)


def _line(value: JsonValue) -> str:
    return " ".join(text_of(value).split("\n"))
