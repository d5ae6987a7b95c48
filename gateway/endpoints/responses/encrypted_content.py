"""`encrypted_content` of reasoning items: what a provider wants to get back word for word.

Where a model of OpenAI's thought, it is OpenAI's own. Of others it has the entries of
`reasoning_details` (gateway.core.reasoning): base64 of JSON behind a prefix, which callers take for
opaque. It is not sealed: nothing is in it that the caller has not been told, but for what the
provider has signed or encrypted itself.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence

import msgspec

from gateway.core.reasoning import (
    OPENAI_RESPONSES,
    SEALED,
    AnyDetail,
    ReasoningEncrypted,
    ReasoningText,
    merge,
)

_decode = msgspec.json.Decoder(list[AnyDetail]).decode


def must_come_back(detail: AnyDetail) -> bool:
    """True for an entry without which a provider would not know its own reasoning again."""
    match detail:
        case ReasoningEncrypted():
            return True
        case ReasoningText():
            return bool(detail.signature)
        case _:
            return False


def write_encrypted(pieces: Sequence[AnyDetail]) -> str | None:
    """Return the entries as one text; None where none of them has to come back."""
    details = merge(pieces)
    needed = [detail for detail in details if must_come_back(detail)]
    if not needed:
        return None
    [only, *others] = needed
    if not others and isinstance(only, ReasoningEncrypted) and only.format == OPENAI_RESPONSES:
        return only.data
    return SEALED + urlsafe_b64encode(msgspec.json.encode(details)).decode()


def read_encrypted(text: str, item_id: str | None) -> list[AnyDetail]:
    """Return the entries again. Raises ValueError for a text that begins like ours and is not."""
    if not text.startswith(SEALED):
        return [ReasoningEncrypted(data=text, id=item_id, format=OPENAI_RESPONSES)]
    try:
        return _decode(urlsafe_b64decode(text[len(SEALED) :]))
    except (ValueError, RecursionError) as error:
        raise ValueError("The text has been changed.") from error


def read_details(given: list[object]) -> list[AnyDetail]:
    """Return the entries that a provider sent; what is none is left out."""
    details: list[AnyDetail] = []
    for entry in given:
        try:
            details.append(msgspec.convert(entry, AnyDetail))
        except msgspec.ValidationError:
            continue
    return details
