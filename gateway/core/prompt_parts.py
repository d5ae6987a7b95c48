"""What there is of a prompt for a tokenizer to count, whatever format it came in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from gateway.core.attachment_tokens import Picture
from gateway.core.files import ReadyFile


class PromptParts(msgspec.Struct, frozen=True, kw_only=True):
    """The parts of one prompt."""

    # How many messages there are, 0 for an operation without them, and all texts.
    messages: int
    texts: Sequence[str]
    # Of what the caller sent as tokens.
    tokens: int = 0
    # Raw JSON, empty where there is none.
    tools: bytes = b""
    schema: bytes = b""
    pictures: Sequence[Picture] = ()
    # Those that go to the model as they are, audio among them.
    files: Sequence[ReadyFile] = ()
    # What else the call uses, by unit (gateway.core.units).
    units: Mapping[str, int] = {}
