"""Which of a kind's models take less than its others, and which fields a target does not take."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

import msgspec

from gateway.providers.catalogue import BY_NAME, ModelFamily, ProviderKind
from gateway.providers.catalogue.kind import ALWAYS_TAKEN
from gateway.providers.request_body import OURS, OURS_PREFIX
from gateway.snapshot.types import TargetRecord

# What comes to the same as saying nothing: left out, it is not lost.
DEFAULTS: Mapping[str, frozenset[bytes]] = {
    "temperature": frozenset({b"1", b"1.0"}),
    "top_p": frozenset({b"1", b"1.0"}),
    "frequency_penalty": frozenset({b"0", b"0.0"}),
    "presence_penalty": frozenset({b"0", b"0.0"}),
    "logprobs": frozenset({b"false"}),
    "n": frozenset({b"1"}),
}
EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
# publisher/ft:NAME:organization::id
_NAME = re.compile(r"(?:[^/]+/)*(?:ft:)?([^:]*)")
_NO_FAMILY = ModelFamily(re.compile(""))
_read_effort = msgspec.json.Decoder(str | None).decode


@lru_cache(maxsize=1024)
def family_of(kind: str, native_model: str) -> ModelFamily:
    """Return the family of a model, an empty one where its kind has none for it."""
    found = _NAME.match(native_model)
    name = found[1] if found else ""
    for family in BY_NAME[kind].families:
        if family.pattern.fullmatch(name):
            return family
    return _NO_FAMILY


def left_out(fields: Mapping[str, bytes | None], target: TargetRecord) -> set[str]:
    """Return the names of fields that the target does not take, whatever is in them."""
    kind = BY_NAME[target.kind]
    names = set(kind.drops & fields.keys())
    if kind.takes:
        names |= {
            name
            for name in fields.keys() - kind.takes - ALWAYS_TAKEN - OURS - {kind.thinking_switch}
            if not name.startswith(OURS_PREFIX)
        }
    if not kind.takes_effort:
        names |= {"reasoning_effort"} & fields.keys()
    family = family_of(target.kind, target.native_model)
    dropped = family.drops & fields.keys()
    if dropped & family.takes_at_rest and effort_of(fields, family) == "none":
        dropped -= family.takes_at_rest
    return names | dropped


def lost(fields: Mapping[str, bytes], target: TargetRecord) -> set[str]:
    """Return the names of those fields of a caller whose meaning is lost with them."""
    return {
        name
        for name in left_out(fields, target)
        if (raw := fields[name]) != b"null" and raw not in DEFAULTS.get(name, ())
    }


def effort_of(fields: Mapping[str, bytes | None], family: ModelFamily) -> str:
    """Return the effort that a model of the family will make."""
    asked = _read_effort(fields.get("reasoning_effort") or b"null")
    return nearest_effort(asked, family) if asked else family.default_effort


def nearest_effort(asked: str, family: ModelFamily) -> str:
    """Return the effort that the family knows instead: the next below, else the least."""
    if not family.efforts or asked in family.efforts or asked not in EFFORTS:
        return asked
    least = EFFORTS.index(asked)
    below = [effort for effort in family.efforts if EFFORTS.index(effort) <= least]
    return below[-1] if below else family.efforts[0]


def is_plain(kind: ProviderKind) -> bool:
    """Return whether every model of the kind takes every field."""
    return not (kind.drops or kind.takes or kind.families) and kind.takes_effort
