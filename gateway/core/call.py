"""What a caller asks for, as far as the stages need to know it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from gateway.core.attachment_tokens import Picture
from gateway.core.files import Attachment


class Call(msgspec.Struct, frozen=True):
    """One request for a completion.

    members: the caller's own top-level members in their order, each as raw JSON bytes; what
    goes to a provider of the same format is made of these, so nothing is re-spelled.
    max_tokens: the smaller of the two spellings, or None when the caller set no limit.
    include_usage: what stream_options asked for, or None when it did not say.
    prompt_tokens_bound: an upper bound, for the hold, without `pictures`, of which models make what
    they do. unknown: names of members that are
    neither OpenAI's nor ours. needs: abilities that its blocks ask of the model (vision, audio,
    pdf). idempotency_key: empty when there is none.
    requires_parameters: nothing may be dropped on the way to the provider. models: the names
    to fall back to, or None when the caller leaves that to the model.
    files: those that have to be fetched, and PDFs. media_urls: addresses that stay in the request,
    each behind its place in it. pdf_pages: that were made into pictures, each
    for pdf_page_nusd.
    """

    model: str
    stream: bool
    include_usage: bool | None
    max_tokens: int | None
    n: int
    user: str
    prompt_tokens_bound: int
    members: Mapping[str, bytes]
    unknown: tuple[str, ...]
    needs: frozenset[str]
    episode_id: str
    idempotency_key: str
    requires_parameters: bool
    messages: Sequence[Any]
    body: bytes
    models: Sequence[str] | None = None
    files: tuple[Attachment, ...] = ()
    media_urls: tuple[tuple[str, str], ...] = ()
    pdf_pages: int = 0
    pdf_page_nusd: int = 0
    pictures: tuple[Picture, ...] = ()

    def gives(self, name: str) -> bool:
        """True when the caller gave the member a value: null means absent throughout."""
        return self.members.get(name, b"null") != b"null"
