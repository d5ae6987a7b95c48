"""What there is of a prompt for a tokenizer to count, whatever format it came in."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from gateway.core.attachment_tokens import Picture
from gateway.core.files import ReadyFile


class PromptParts(msgspec.Struct, frozen=True):
    """texts: of all messages, of which there are `messages`. tools, schema: raw JSON, empty where
    there is none. files: those that go to the model as they are, sounds among them."""

    messages: int
    texts: Sequence[str]
    tools: bytes = b""
    schema: bytes = b""
    pictures: Sequence[Picture] = ()
    files: Sequence[ReadyFile] = ()
