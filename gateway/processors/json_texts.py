"""The texts in JSON: the values and names in it, and a request's body with other ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from gateway.core.json_types import JsonObject, JsonValue

# Numbers of fewer digits identify nobody.
MIN_DIGITS = 7


def base64_of(url: str) -> str:
    return url.rpartition(",")[2] if url[:5].lower() == "data:" else url


def decode_document(text: str) -> JsonValue:
    """Return the JSON object or array that a text is; None for any other text."""
    if text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return None


def leaves(value: JsonValue) -> Iterator[tuple[JsonValue, str | int]]:
    """Yield the place of every string and every long number."""
    pending = [value]
    while pending:
        container = pending.pop()
        entries = container.items() if isinstance(container, dict) else enumerate(container)
        inner = []
        for key, one in entries:
            if isinstance(one, dict | list):
                inner.append(one)
            elif isinstance(one, str) or (
                isinstance(one, int) and len(str(abs(one))) >= MIN_DIGITS
            ):
                yield container, key
        pending += reversed(inner)


def names_in(value: JsonValue) -> Iterator[tuple[JsonObject, str]]:
    """Yield the place of every name that is not like the name of a field: those of letters, _ and -
    alone are."""
    pending = [value]
    while pending:
        container = pending.pop()
        if isinstance(container, dict):
            for key in container:
                if not key.replace("_", "").replace("-", "").isalpha():
                    yield container, key
        entries = container.values() if isinstance(container, dict) else container
        pending += reversed([one for one in entries if isinstance(one, dict | list)])


def rename(container: JsonObject, names: Mapping[str, str]) -> None:
    """Give members other names, in their places. names: by the old ones."""
    members = [(names.get(key, key), value) for key, value in container.items()]
    container.clear()
    container.update(members)


def replace_in_body(
    body: bytes, values: Mapping[str, str], names: Mapping[str, str]
) -> bytes | None:
    """Return a request's body, in whatever format it is, with these values and names replaced.

    Only whole strings are, and strings, numbers and names of JSON within strings. None where one is
    not found: then the body has it in another form.
    """
    try:
        value = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError):
        return None
    replacing = _Replacing(values, names)
    pending: list[JsonValue] = [value]
    while pending:
        container = pending.pop()
        entries = list(container.items() if isinstance(container, dict) else enumerate(container))
        for key, one in entries:
            if isinstance(one, dict | list):
                pending.append(one)
            elif isinstance(one, str | int) and not isinstance(one, bool):
                container[key] = replacing.replaced(one)
        replacing.rename_in(container)
    return None if replacing.missing else msgspec.json.encode(value)


class _Replacing:
    """What is replaced, and which of it was not seen yet."""

    def __init__(self, values: Mapping[str, str], names: Mapping[str, str]) -> None:
        self._values = values
        self._names = names
        self._missing = set(values)
        self._missing_names = set(names)

    @property
    def missing(self) -> bool:
        return bool(self._missing or self._missing_names)

    def rename_in(self, container: JsonValue) -> bool:
        """Replace the names in an object. Return whether there was one."""
        if not isinstance(container, dict) or self._names.keys().isdisjoint(container):
            return False
        self._missing_names.difference_update(container)
        rename(container, self._names)
        return True

    def replaced(self, value: str | int) -> JsonValue:
        text = str(value)
        if text in self._values:
            self._missing.discard(text)
            return self._values[text]
        if isinstance(value, int):
            return value
        data = base64_of(text)
        if data in self._values:
            self._missing.discard(data)
            return text.removesuffix(data) + self._values[data]
        document = decode_document(text)
        if document is None:
            return value
        has_changed = False
        for container, key in leaves(document):
            leaf = str(container[key])
            if leaf in self._values:
                self._missing.discard(leaf)
                container[key] = self._values[leaf]
                has_changed = True
        for holder in [holder for holder, _ in names_in(document)]:
            has_changed |= self.rename_in(holder)
        return msgspec.json.encode(document).decode() if has_changed else value
