"""What all endpoints that read OpenAI's formats check alike, and how they word it."""

from __future__ import annotations

import hmac
import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Annotated, TypeVar

import msgspec
from msgspec import Meta

from gateway.core.errors import RequestError, UnsupportedParameter
from gateway.core.parameters import steers
from gateway.endpoints.choices import find_choices
from gateway.endpoints.rules import Rules
from gateway.endpoints.wording import in_words
from gateway.http import strict_json

MAX_NAME_CHARS = 256
T = TypeVar("T")
PROCESSORS = "processors"
THE_BODY = "The body"
# The end as JSON Schema means it: Python's $ also matches before a last line feed.
END = r"(?![\s\S])"
PublicName = Annotated[str, Meta(min_length=1, max_length=256)]
User = Annotated[str, Meta(max_length=256, pattern=r"^[^\x00-\x1f\x7f]*" + END)]
USER_WORDS = "text without control characters"
_PATH = re.compile(r" - at (?P<key>`key` in )?`\$(?:\.(?P<path>[^`]*))?`$")
# How the library writes the place of a map's value.
_VALUE = "[...]"
_UNKNOWN = re.compile(r"contains unknown field `(?P<name>.*)`$", re.DOTALL)
_PATTERN = re.compile(r"^Expected `str` matching regex .*$", re.DOTALL)
_OTHER_WORD = ("Invalid enum value", "Invalid value")
_MISSING = re.compile(r"missing required field `(?P<name>[^`]+)`")

member_decoder = msgspec.json.Decoder(dict[str, msgspec.Raw])


def decode(
    decoder: msgspec.json.Decoder[T],
    body: bytes,
    words_for: Callable[[str], str],
    max_items: int = strict_json.MAX_ITEMS,
) -> T:
    """Return the body as the decoder's type. words_for: as in explain. max_items: as in
    strict_json.check. Raises InvalidJson, or RequestError with the member at fault as `param`."""
    strict_json.check(body, max_items)
    try:
        return decoder.decode(body)
    except msgspec.ValidationError as error:
        raise explain(error, words_for, decoder.type, body) from None


def explain(
    error: msgspec.ValidationError,
    words_for: Callable[[str], str],
    wanted: object,
    body: bytes | None = None,
) -> RequestError:
    """Turn the library's wording into a sentence and a `param`.

    words_for: returns what the pattern of a member's text asks for, in words. wanted: the type that
    was read. body: what was read, if it was JSON.
    """
    text = str(error)
    found = _PATH.search(text)
    path = (found["path"] or "") if found else ""
    # The library does not name the member of a map that is at fault: the map's name has to do.
    param = path.replace(_VALUE, "")
    reason = text[: found.start()] if found else text
    if missing := _MISSING.search(reason):
        param = f"{param}.{missing['name']}" if param else missing["name"]
        return RequestError(f"{param} is required.", param=param)
    if unknown := _UNKNOWN.search(reason):
        name = unknown["name"][:MAX_NAME_CHARS]
        param = f"{param}.{name}" if param else name
        return RequestError(f"Unknown parameter: {param}.", param=param)
    if reason.startswith(_OTHER_WORD) and (choices := _choices(wanted, param, body)):
        return RequestError(f"{param} must be one of: {', '.join(choices)}.", param=param)
    if _PATTERN.match(reason):
        return RequestError(f"{param} must be {words_for(param)}.", param=param)
    words = in_words(reason)
    said = f" {words}" if words else f": {reason}"
    subject = param or THE_BODY
    if found and found["key"]:
        subject = f"Each name in {subject}"
    elif path.endswith(_VALUE):
        subject = f"Each value of {subject}"
    return RequestError(f"{subject}{said}.", param=param or None)


def explain_inside(
    error: msgspec.ValidationError, words_for: Callable[[str], str], wanted: object, path: str
) -> RequestError:
    """Do what explain does for a value that stands at this path of the body."""
    told = explain(error, words_for, wanted)
    place = path if told.param is None else f"{path}.{told.param}"
    return RequestError(told.message.replace(told.param or THE_BODY, place, 1), param=place)


def _choices(wanted: object, param: str, body: bytes | None) -> tuple[str, ...]:
    return find_choices(wanted, param, None if body is None else msgspec.json.decode(body))


def refuse_unsafe(unknown: Sequence[str], known: frozenset[str]) -> None:
    """Refuse names that would choose the provider's URL or credential, and look-alikes of known
    ones."""
    for name in unknown:
        if steers(name):
            raise RequestError(
                f"{name} is not accepted: clients cannot choose the provider's URL, credential,"
                " headers or body.",
                param=name,
            )
    refuse_look_alikes(unknown, known)


@lru_cache(maxsize=16)
def _by_folded(known: frozenset[str]) -> dict[str, str]:
    return {name.casefold(): name for name in known}


def refuse_look_alikes(unknown: Sequence[str], known: frozenset[str]) -> None:
    """Refuse names that differ from known ones in case or spaces around them alone, and
    `processors` outside `inferada`.

    Some providers read names in any case: they would take from Model or Max_Tokens what was allowed
    and priced from model and max_tokens. And passed on as unknown, `processors` would leave a call
    without those that its caller asks for.
    """
    for name in unknown:
        if meant := _by_folded(known).get(name[:MAX_NAME_CHARS].strip().casefold()):
            raise RequestError(f"Unknown parameter: {name}. Send {meant}.", param=name)
        if name.strip().lower() == PROCESSORS and "inferada" in known:
            raise RequestError(f"Unknown parameter: {name}. Send inferada.processors.", param=name)


def check_unknown(unknown: Sequence[str], *, denies: bool) -> None:
    """Refuse unknown names that are too long or ours, and all where the caller denies them."""
    for name in unknown:
        if len(name) > MAX_NAME_CHARS:
            raise RequestError(f"A parameter name exceeds {MAX_NAME_CHARS} characters.")
        if name.startswith("tensorzero::"):
            raise UnsupportedParameter(f"{name} is not available.", param=name)
    if denies and unknown:
        raise RequestError(f"Unknown parameter: {unknown[0]}.", param=unknown[0])


def write_alias(user: str, rules: Rules) -> bytes:
    """Return `user` as providers get it, raw JSON."""
    return f'"{hmac.digest(rules.user_secret, user.encode(), "sha256").hex()}"'.encode()
