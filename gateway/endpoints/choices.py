"""The values that a member of a request may have, where these are a few words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from msgspec import inspect

# A name, or a place in a list.
_STEP = re.compile(r"(?P<name>[^.\[\]]+)|\[\d*\]")


def find_choices(wanted: object, path: str) -> tuple[str, ...]:
    """Return the words that a member may be; none where it may be something else, too.

    wanted: the type of the whole, as msgspec takes it. path: such as messages[0].role.
    """
    steps = tuple(found["name"] or "" for found in _STEP.finditer(path))
    return _find(wanted, steps)


@lru_cache(maxsize=256)
def _find(wanted: object, steps: tuple[str, ...]) -> tuple[str, ...]:
    if not steps:
        return ()
    found: list[inspect.Type] = [inspect.type_info(wanted)]
    for step in steps[:-1]:
        found = [inner for one in _flat(found) for inner in _inner(one, step)]
    words: dict[str, None] = {}
    for one in _flat(found):
        if isinstance(one, inspect.StructType) and one.tag_field == steps[-1]:
            words[str(one.tag)] = None
            continue
        for value in _flat(_inner(one, steps[-1])):
            words.update(dict.fromkeys(_words(value)))
    return tuple(words)


def _flat(types: Iterable[inspect.Type]) -> Iterator[inspect.Type]:
    """Yield the types, and instead of a union each of its own."""
    for one in types:
        if isinstance(one, inspect.UnionType):
            yield from _flat(one.types)
        elif isinstance(one, inspect.Metadata):
            yield from _flat([one.type])
        else:
            yield one


def _inner(one: inspect.Type, step: str) -> list[inspect.Type]:
    """Return the types of a member, or of the items of a list where the step has no name."""
    if isinstance(one, inspect.StructType):
        return [field.type for field in one.fields if field.encode_name == step]
    if isinstance(one, inspect.DictType):
        return [one.value_type]
    if isinstance(one, inspect.ListType) and not step:
        return [one.item_type]
    return []


def _words(one: inspect.Type) -> list[str]:
    if isinstance(one, inspect.LiteralType):
        return [value for value in one.values if isinstance(value, str)]
    return []
