"""Every processor, in the order in which they run, whatever order callers name them in."""

from __future__ import annotations

from msgspec import Struct

from gateway.processors.anonymise import Anonymise
from gateway.processors.base import Processor
from gateway.processors.haystack import Haystack
from gateway.processors.pii_guard import PiiGuard
from gateway.processors.prompt_shield import PromptShield
from gateway.processors.require_local import RequireLocal
from gateway.processors.spellcheck import Spellcheck

ALL: list[Processor] = [
    RequireLocal(),
    # Before those that search texts: they read its data as well.
    Haystack(),
    Anonymise(),
    PiiGuard(),
    PromptShield(),
    # Last, so that it is the first to get the answer: with the placeholders, not the data.
    Spellcheck(),
]
PROCESSORS: dict[str, Processor] = {one.name: one for one in ALL}


def option_types() -> dict[str, type[Struct]]:
    """Return the types of the options that requests may have, by the names of processors."""
    return {name: one.options for name, one in PROCESSORS.items() if one.options is not None}
