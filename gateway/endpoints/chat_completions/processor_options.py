"""The `inferada` object of a request (gateway contract, section 6.5.2), as types.

Unknown members are refused here and not passed on: the object is ours, and a misspelt guard that
is ignored would guard nothing. null means absent throughout.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from gateway.core.json_types import JsonObject, JsonValue

Share = Annotated[float, Meta(ge=0, le=1)]
EntityTypes = list[Annotated[str, Meta(min_length=1, max_length=64)]]


class AnonymiseSettings(Struct, forbid_unknown_fields=True):
    entities: EntityTypes | None = None
    score_threshold: Share | None = None
    service_id: str | None = None


class PiiGuardSettings(Struct, forbid_unknown_fields=True):
    entities: EntityTypes | None = None
    score_threshold: Share | None = None
    allow_unscannable: bool | None = None


class PromptShieldSettings(Struct, forbid_unknown_fields=True):
    threshold: Share | None = None


class SpellcheckSettings(Struct, forbid_unknown_fields=True):
    level: str | None = None


class HaystackSettings(Struct, forbid_unknown_fields=True):
    """data: any JSON tree; schema: flags beside its leaves."""

    data: JsonValue = None
    schema: JsonObject | None = None
    format: str | None = None
    redact: bool | None = None


class Inferada(Struct, forbid_unknown_fields=True, kw_only=True):
    """processors: names, in any order; which there are is not a matter of types."""

    processors: list[str] | None = None
    language: Annotated[str, Meta(max_length=64)] | None = None
    skip_model_default: bool | None = None
    anonymise: AnonymiseSettings | None = None
    pii_guard: PiiGuardSettings | None = None
    prompt_shield: PromptShieldSettings | None = None
    spellcheck: SpellcheckSettings | None = None
    haystack: HaystackSettings | None = None
