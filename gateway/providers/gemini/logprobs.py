"""Probabilities of tokens from Gemini's form to OpenAI's.

Reference: https://ai.google.dev/api/generate-content#LogprobsResult
"""

from __future__ import annotations

import msgspec


class TokenLogprob(msgspec.Struct, rename="camel"):
    """A token, and how probable it was."""

    token: str = ""
    # Nothing where it is 0, for that is left out.
    log_probability: float = 0.0


class TopTokens(msgspec.Struct):
    """The most probable tokens of one step."""

    candidates: list[TokenLogprob] | None = None


class LogprobsResult(msgspec.Struct, rename="camel"):
    """The tokens of an answer, and what else each could have been."""

    chosen_candidates: list[TokenLogprob] | None = None
    top_candidates: list[TopTokens] | None = None


def write_logprobs(result: LogprobsResult | None) -> dict[str, object] | None:
    """Return the probabilities as OpenAI's API has them; None where there are none."""
    if result is None or result.chosen_candidates is None:
        return None
    tops = [top.candidates or [] for top in result.top_candidates or ()]
    content: list[dict[str, object]] = []
    for place, chosen in enumerate(result.chosen_candidates):
        top = tops[place] if place < len(tops) else []
        content.append(_write(chosen) | {"top_logprobs": [_write(other) for other in top]})
    return {"content": content, "refusal": None}


def _write(token: TokenLogprob) -> dict[str, object]:
    return {
        "token": token.token,
        "logprob": token.log_probability,
        "bytes": list(token.token.encode(errors="replace")),
    }
