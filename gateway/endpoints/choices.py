"""The values that a member of a request may have, where these are a few words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from msgspec import inspect

# A name, or a place in a list.
_STEP = re.compile(r"(?P<name>[^.\[\]]+)|\[(?P<index>\d*)\]")


_type_info = lru_cache(maxsize=64)(inspect.type_info)


def find_choices(wanted: object, path: str, value: object = None) -> tuple[str, ...]:
    """Return the words that a member may be; none where it may be something else, too.

    wanted: the type of the whole, as msgspec takes it. path: such as messages[0].role. value: the
    whole, if it is known: what its tags exclude is left out.
    """
    steps = [(found["name"], found["index"]) for found in _STEP.finditer(path)]
    if not steps:
        return ()
    found: list[inspect.Type] = [_type_info(wanted)]
    for name, index in steps[:-1]:
        found = [inner for one in _possible(found, value) for inner in _inner(one, name)]
        value = _inside(value, name, index)
    words: dict[str, None] = {}
    last = steps[-1][0]
    for one in _possible(found, value):
        if isinstance(one, inspect.StructType) and one.tag_field == last:
            words[str(one.tag)] = None
            continue
        for kind in _flat(_inner(one, last)):
            words.update(dict.fromkeys(_words(kind)))
    return tuple(words)


def _possible(types: Iterable[inspect.Type], value: object) -> list[inspect.Type]:
    """Return the types, and instead of a union each of its own that the value's tag names. All of
    them where it names none."""
    found = list(_flat(types))
    if not isinstance(value, dict):
        return found
    tagged = [one for one in found if isinstance(one, inspect.StructType) and one.tag_field]
    named = [one for one in tagged if value.get(one.tag_field) == one.tag]
    return list(named) if named else found


def _inside(value: object, name: str | None, index: str | None) -> object:
    """Return a member of the value, or an item; None where there is none."""
    if isinstance(value, dict):
        return value.get(name)
    if isinstance(value, list) and index and int(index) < len(value):
        return value[int(index)]
    return None


def _flat(types: Iterable[inspect.Type]) -> Iterator[inspect.Type]:
    """Yield the types, and instead of a union each of its own."""
    for one in types:
        if isinstance(one, inspect.UnionType):
            yield from _flat(one.types)
        elif isinstance(one, inspect.Metadata):
            yield from _flat([one.type])
        else:
            yield one


def _inner(one: inspect.Type, step: str | None) -> list[inspect.Type]:
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
