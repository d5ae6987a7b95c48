"""What Perplexity's models count beside tokens: what they searched, read and thought meanwhile.

Counts: https://docs.perplexity.ai/api-reference/chat-completions-post
What each costs: https://docs.perplexity.ai/getting-started/pricing
"""

from __future__ import annotations

from gateway.core.json_types import JsonObject
from gateway.core.money import Usage
from gateway.providers.token_counts import MAX_TOKENS_COUNTED as MOST
from gateway.providers.token_counts import read_count

# Members of usage that nobody else has.
MEMBERS = frozenset({"search_context_size", "citation_tokens", "num_search_queries"})


def read_usage(raw: JsonObject, prompt: int, completion: int) -> Usage:
    """Return the counts with what was read, which costs what the prompt does, and thought.

    Models that do not count their searches have a fee for each request instead: that is one search.
    """
    read, thought = _read(raw, "citation_tokens"), _read(raw, "reasoning_tokens")
    if raw.get("num_search_queries") is None:
        searches = int(_has_fee(raw))
    else:
        searches = _read(raw, "num_search_queries")
    counts = {"research": thought, "search": searches}
    others = {name: count for name, count in counts.items() if count}
    prompt, completion = min(prompt + read, MOST), min(completion + thought, MOST)
    return Usage(prompt, completion, 0, thought, others)


def _has_fee(raw: JsonObject) -> bool:
    """Return whether the request has a fee: it has none only where the provider says so."""
    cost = raw.get("cost")
    return not isinstance(cost, dict) or cost.get("request_cost") != 0


def _read(raw: JsonObject, name: str) -> int:
    """Return a count; 0 where there is none that makes sense."""
    return read_count(raw.get(name)) or 0
