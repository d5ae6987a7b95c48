"""Text completions of the built-in provider: what its chat says to the first prompt, for each."""

from __future__ import annotations

from gateway.core.json_types import JsonObject, JsonValue


def as_chat(asked: JsonObject) -> JsonObject:
    """Return a request for text completions as one for a chat with as many choices."""
    texts = prompts_of(asked["prompt"])
    chat = {name: value for name, value in asked.items() if name != "prompt"}
    chat["messages"] = [{"role": "user", "content": texts[0]}]
    chat["n"] = len(texts) * (asked.get("n") or 1)
    return chat


def prompts_of(given: JsonValue) -> list[str]:
    """Return the text of each prompt; of tokens, their numbers."""
    if isinstance(given, str):
        return [given]
    if isinstance(given[0], int):
        return [_spell(given)]
    return [one if isinstance(one, str) else _spell(one) for one in given]


def generated(asked: JsonObject) -> int:
    """Return how many completions are made, those that are not returned included."""
    return len(prompts_of(asked["prompt"])) * (asked.get("best_of") or asked.get("n") or 1)


def _spell(tokens: list[int]) -> str:
    return " ".join(map(str, tokens))


def as_text(choice: JsonObject, asked: JsonObject) -> JsonObject:
    """Return a choice of a chat, whole or a piece, as one of text."""
    said = choice.get("message") or choice.get("delta") or {}
    text = said.get("content") or ""
    if asked.get("echo"):
        texts = prompts_of(asked["prompt"])
        text = texts[choice["index"] // (asked.get("n") or 1)] + text
    one = {name: choice[name] for name in ("index", "finish_reason")}
    if "reasoning_content" in said:
        one["reasoning"] = said["reasoning_content"]
    return {**one, "text": text, "logprobs": None}
