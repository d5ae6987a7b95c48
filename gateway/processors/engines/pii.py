"""Finds personal data in texts. Imported in a child process alone (gateway.processors.engine_pool).

A request has `texts`, `languages` (absent: all of them), `entities` (absent: every type) and
`score_threshold`. The answer has `findings`: for each text a list of type, start, end
and score, which do not overlap, in characters of the text as it was written.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from gateway.processors.engines.pii_recognisers.bank import find_cards, find_ibans
from gateway.processors.engines.pii_recognisers.contact import find_emails, find_phones, find_urls
from gateway.processors.engines.pii_recognisers.documents import find_birth_dates, find_documents
from gateway.processors.engines.pii_recognisers.names import find_by_argus, find_names
from gateway.processors.engines.pii_recognisers.national_ids import find_national_ids
from gateway.processors.engines.pii_recognisers.network import (
    find_addresses,
    find_hardware_addresses,
)
from gateway.processors.engines.pii_recognisers.overlaps import outside, resolve
from gateway.processors.engines.pii_recognisers.places import find_places
from gateway.processors.engines.pii_recognisers.text import (
    DEFAULT_THRESHOLD,
    Recogniser,
    Text,
)
from gateway.processors.pii_types import NAME_TYPES

RECOGNISERS: tuple[Recogniser, ...] = (
    find_emails,
    find_urls,
    find_phones,
    find_ibans,
    find_cards,
    find_national_ids,
    find_addresses,
    find_hardware_addresses,
    find_documents,
    find_birth_dates,
    find_names,
    find_places,
    find_by_argus,
)


class Request(msgspec.Struct):
    texts: list[str]
    languages: list[str] | None = None
    entities: list[str] | None = None
    score_threshold: float = DEFAULT_THRESHOLD


def handle(request: dict[str, object]) -> dict[str, object]:
    """Return the findings of every text."""
    return answer(request, RECOGNISERS)


def answer(
    request: dict[str, object],
    recognisers: Iterable[Recogniser],
    *,
    beside: Recogniser | None = None,
) -> dict[str, object]:
    """Return what these recognisers find in every text. beside: one that counts only where none of
    the others finds anything but names and places, which it is likelier to get wrong."""
    asked = msgspec.convert(request, Request)
    languages = frozenset(asked.languages or ())
    wanted = frozenset(asked.entities or ())
    findings = []
    for written in asked.texts:
        text = Text(written)
        seen = [one for recogniser in recognisers for one in recogniser(text, languages)]
        if beside is not None:
            sure = [one for one in resolve(seen, written) if one.type not in NAME_TYPES]
            seen += outside(beside(text, languages), sure, written)
        found = [
            one
            for one in seen
            if one.score >= asked.score_threshold and (not wanted or one.type in wanted)
        ]
        findings.append([list(one) for one in resolve(found, written)])
    return {"findings": findings}
