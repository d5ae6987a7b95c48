"""Perplexity's chat completions as the fake upstream plays them.

Sources: https://docs.perplexity.ai/api-reference/chat-completions-post and
https://docs.perplexity.ai/docs/sonar/pro-search/stream-mode (full mode, the default). Each piece
of a stream has all that was said before it, what was found, and the usage so far.

Its book counts what was read in the prompt, and what was thought in the completion, as both cost
what those do where they have no prices of their own. The usage has them beside these counts.
"""

from __future__ import annotations

from typing import Any

from tests.fakes.asked import Chat, Request
from tests.fakes.book import Entry
from tests.fakes.dialect import LEFT_OUT, Writer, encode, usage_of
from tests.fakes.generation import Step
from tests.fakes.outgoing import Link
from tests.fakes.player import Player
from tests.fakes.script import NEVER, Script


def is_perplexity(path: str) -> bool:
    return path.startswith("/perplexity/")


def reported_usage(script: Script, entry: Entry) -> Any:
    """Return the usage as Perplexity reports it, or as the script falsifies it."""
    usage = usage_of(script, entry)
    if not isinstance(usage, dict):
        return usage
    prompt = entry.prompt_tokens - entry.citation_tokens
    completion = entry.completion_tokens - entry.research_tokens
    told: dict[str, Any] = {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "search_context_size": "low",
        "citation_tokens": entry.citation_tokens or None,
        "num_search_queries": None if script.searched == NEVER else entry.searches,
        "reasoning_tokens": entry.research_tokens or None,
    }
    if script.fee_usd != NEVER:
        told["cost"] = {"request_cost": script.fee_usd, "total_cost": script.fee_usd}
    return told


class PerplexityWriter(Writer):
    """Chunks with the message so far, the results of the search, and the usage."""

    def __init__(self, chat: Chat, script: Script, serial: int, entry: Entry) -> None:
        super().__init__(chat, script, serial)
        self._entry = entry
        self._said = ""
        url = "https://example.com/"
        results = [{"title": "A page", "url": url, "snippet": "x" * script.found_bytes}]
        self._found = encode({"citations": [url], "search_results": results})[1:]

    def step_chunk(self, choice: int, steps: list[Step]) -> bytes:
        self._said += "".join(step.text for step in steps if step.kind == "content")
        return super().step_chunk(choice, steps)

    def chunk(self, choice: int, delta: bytes, *, finish: str = "", logprobs: Any = None) -> bytes:
        plain = super().chunk(choice, delta, finish=finish, logprobs=logprobs)
        message = encode({"role": "assistant", "content": self._said})
        usage = reported_usage(self.script, self._entry)
        told = b"" if usage is LEFT_OUT else b'"usage":' + encode(usage) + b","
        return plain.removesuffix(b"}]}") + b',"message":%b}],%b%b' % (message, told, self._found)


class PerplexityPlayer(Player):
    """One answer to one request."""

    def __init__(
        self, link: Link, request: Request, chat: Chat, script: Script, entry: Entry, serial: int
    ) -> None:
        super().__init__(link, request, chat, script, entry, serial)
        self._writer: Writer = PerplexityWriter(chat, script, serial, entry)

    def _reported_usage(self) -> Any:
        return reported_usage(self._script, self._entry)

    async def _stream(self) -> None:
        self._search()
        await super()._stream()

    async def _answer(self) -> None:
        self._search()
        await super()._answer()

    def _search(self) -> None:
        """Count what the model does before it says anything. A model that does not count its
        searches has a fee for the request, which costs what one search does."""
        script, entry = self._script, self._entry
        entry.searches = int(script.fee_usd != 0) if script.searched == NEVER else script.searched
        entry.citation_tokens, entry.research_tokens = script.cited, script.researched
        entry.prompt_tokens += entry.citation_tokens
        entry.completion_tokens += entry.research_tokens

    async def _end_stream(self) -> None:
        usage = self._reported_usage()
        if usage is not LEFT_OUT:
            self._entry.report(usage)
        await super()._end_stream()
