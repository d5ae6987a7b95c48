"""Embeddings and rankings in other dialects than OpenAI's: what all fakes of them share.

A vector has `dimensions` numbers, 8 if nobody says: how many words its text has, then tenths.
`script:` in the first text is obeyed: `fail`, `usage`, `drop` and the like, `vectors` (fewer, more
or raw:<JSON>) and `answers` (fewer, more, twice or raw:<JSON> in the place of the results). With
`echo` the book has the request's body.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from tests.fakes.asked import Chat, Message, Request
from tests.fakes.book import Entry
from tests.fakes.dialect import encode
from tests.fakes.outgoing import Link
from tests.fakes.player import Player
from tests.fakes.script import Script

DIMENSIONS = 8
Headers = list[tuple[bytes, bytes]]
Body = dict[str, Any]


class Asked(msgspec.Struct):
    """A request that was found to be good.

    texts: whose words count, the script's first. write: returns the answer. write_refusal: the body
    of a scripted error status; None for that of OpenAI's. headers, refusal_headers: what the answer
    and such a refusal have beside the usual ones.
    """

    model: str
    texts: list[str]
    write: Callable[[Script, Entry], object]
    write_refusal: Callable[[Script], object] | None = None
    headers: Callable[[Script, Entry], Headers] | None = None
    refusal_headers: Callable[[Script], Headers] | None = None


class TextsPlayer(Player):
    """Plays the answer."""

    asked: Asked

    async def _answer(self) -> None:
        asked, script, entry = self.asked, self._script, self._entry
        body = encode(asked.write(script, entry))
        if asked.headers is not None:
            self._out.extra_headers += asked.headers(script, entry)
        await self._send_whole(body)

    def _refusal_body(self) -> tuple[bytes, str]:
        if self.asked.refusal_headers is not None:
            self._out.extra_headers += self.asked.refusal_headers(self._script)
        write = self.asked.write_refusal
        if write is None or self._script.body != "json":
            return super()._refusal_body()
        return encode(write(self._script)), "application/json"


def player_of(link: Link, request: Request, asked: Asked, entry: Entry, serial: int) -> Player:
    """Return what plays the answer. Raises ScriptError."""
    chat = Chat(model=asked.model, messages=[Message("user", text) for text in asked.texts[:1]])
    script = chat.script()
    entry.model = asked.model
    entry.prompt_tokens = sum(map(count_words, asked.texts))
    if script.echo:
        entry.body = request.body.decode()
    player = TextsPlayer(link, request, chat, script, entry, serial)
    player.asked = asked
    return player


def count_words(text: str) -> int:
    return len(text.split())


def vectors_of(texts: list[str], dimensions: int, script: Script) -> list[Any]:
    """Return the vectors, or what the script makes of them."""
    tenths = [n / 10 for n in range(dimensions - 1)]
    vectors: list[Any] = [[float(count_words(text)), *tenths] for text in texts]
    how = script.vectors
    if how == "fewer":
        return vectors[:-1]
    if how == "more":
        return [*vectors, vectors[0]]
    if how.startswith("raw:"):
        return [msgspec.Raw(how.removeprefix("raw:").encode())] * len(vectors)
    return vectors


def ranking_of(
    documents: list[str], top: int, script: Script, score: str = "relevance_score"
) -> Any:
    """Return the longest documents first, or what the script makes of that."""
    scored = sorted(((len(text) / 1000, at) for at, text in enumerate(documents)), reverse=True)
    results = [{"index": at, score: value} for value, at in scored[:top]]
    how = script.answers
    if how == "fewer":
        return results[:-1]
    if how == "more":
        return [*results, results[0]]
    if how == "twice":
        return [*results[:-1], results[0]]
    return msgspec.Raw(how.removeprefix("raw:").encode()) if how else results


def reported(script: Script, counts: object) -> Any:
    """Return the counts to report, true or as the script falsifies them."""
    how, _, value = script.usage.partition(":")
    return {"none": None, "raw": msgspec.Raw(value.encode())}.get(how, counts)
