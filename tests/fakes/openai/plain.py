"""OpenAI's Moderations and Images APIs and Cohere's ranking, as the fake upstream speaks them.

`script:` in the first text is obeyed: `fail`, `usage`, `drop` and the like, and `answers`: fewer or
more of them than were asked for, twice the same, or raw:<JSON> in the place of the list.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from openai.types import ImagesResponse, ModerationCreateResponse
from openai.types.image_generate_params import ImageGenerateParamsNonStreaming
from openai.types.moderation_create_params import ModerationCreateParams

from tests.fakes.asked import Chat, Message, Request
from tests.fakes.book import Entry
from tests.fakes.dialect import encode
from tests.fakes.openai.judges import judge_answer, judge_request
from tests.fakes.outgoing import Link
from tests.fakes.player import Player
from tests.fakes.script import Script
from tests.fakes.strictness import Refused

# https://docs.cohere.com/reference/rerank
RERANK = frozenset({"model", "query", "documents", "top_n", "max_tokens_per_doc", "priority"})
DOCUMENTS_PER_SEARCH = 100
CATEGORIES = (
    *("harassment", "harassment/threatening", "hate", "hate/threatening", "illicit"),
    *("illicit/violent", "self-harm", "self-harm/instructions", "self-harm/intent", "sexual"),
    *("sexual/minors", "violence", "violence/graphic"),
)
Body = dict[str, Any]


class Asked(msgspec.Struct):
    """The body, once it was found to be good. texts: whose words count."""

    body: Body
    texts: list[str]
    answers: int


def read_moderation(body: Body) -> Asked:
    judge_request(ModerationCreateParams, body)
    given = body["input"] if isinstance(body["input"], list) else [body["input"]]
    if not given:
        raise Refused("Invalid 'input': it cannot be empty.")
    if isinstance(given[0], str):
        return Asked(body, given, len(given))
    texts = [part["text"] for part in given if part["type"] == "text"]
    return Asked(body, texts, 1)


def read_image(body: Body) -> Asked:
    judge_request(ImageGenerateParamsNonStreaming, body)
    return Asked(body, [body["prompt"]], body.get("n") or 1)


def read_rerank(body: Body) -> Asked:
    if extra := body.keys() - RERANK:
        raise Refused(f"unknown field: {min(extra)}")
    documents = body.get("documents")
    if not isinstance(documents, list) or not all(isinstance(one, str) for one in documents):
        raise Refused("documents must be a list of strings")
    top_n = min(body.get("top_n") or len(documents), len(documents))
    return Asked(body, [body["query"], *documents], top_n)


READERS: dict[str, Callable[[Body], Asked]] = {
    "moderations": read_moderation,
    "images/generations": read_image,
    "rerank": read_rerank,
}


class PlainPlayer(Player):
    """Plays the answer to one of them."""

    def __init__(
        self, link: Link, request: Request, asked: Asked, script: Script, entry: Entry, serial: int
    ) -> None:
        chat = Chat(model=asked.body["model"])
        super().__init__(link, request, chat, script, entry, serial)
        self._asked = asked
        self._path = request.path

    async def _answer(self) -> None:
        asked = self._asked
        if self._path.endswith("/moderations"):
            answer = self._moderations(asked)
        elif self._path.endswith("/rerank"):
            answer = self._ranking(asked)
        else:
            answer = self._images(asked)
        how, _, value = self._script.usage.partition(":")
        if how == "none":
            answer.pop("usage", None)
            answer.pop("meta", None)
        if how in ("raw", "null"):
            answer["usage"] = msgspec.Raw(value.encode() or b"null")
            if "meta" in answer:
                answer["meta"] = answer["usage"]
        self._entry.report(answer.get("usage"))
        await self._send_whole(encode(answer))

    def _moderations(self, asked: Asked) -> Body:
        results = [
            {
                "flagged": index % 2 == 1,
                "categories": dict.fromkeys(CATEGORIES, index % 2 == 1),
                "category_scores": dict.fromkeys(CATEGORIES, 0.25),
                "category_applied_input_types": {name: ["text"] for name in CATEGORIES},
            }
            for index in range(asked.answers)
        ]
        answer = {"id": "modr-1", "model": asked.body["model"], "results": results}
        judge_answer(ModerationCreateResponse, answer)
        if self._path.startswith("/openai_compatible/"):  # as some servers of this format
            tokens = self._entry.prompt_tokens
            answer["usage"] = {"prompt_tokens": tokens, "total_tokens": tokens}
        answer["results"] = self._spoil(results)
        return answer

    def _images(self, asked: Asked) -> Body:
        url = asked.body.get("response_format") == "url"
        image = {"url": "https://images.example/1.png"} if url else {"b64_json": "aW1hZ2U="}
        data = [dict(image) for _ in range(asked.answers)]
        answer: Body = {"created": 1, "data": data, "size": asked.body.get("size") or "1024x1024"}
        entry = self._entry
        entry.images = asked.answers
        if asked.body["model"].startswith("gpt-image"):
            entry.completion_tokens = 100 * asked.answers
            answer["usage"] = {
                "input_tokens": entry.prompt_tokens,
                "input_tokens_details": {"text_tokens": entry.prompt_tokens, "image_tokens": 0},
                "output_tokens": entry.completion_tokens,
                "total_tokens": entry.prompt_tokens + entry.completion_tokens,
            }
        else:
            entry.prompt_tokens = 0
        judge_answer(ImagesResponse, answer)
        answer["data"] = self._spoil(data)
        return answer

    def _ranking(self, asked: Asked) -> Body:
        documents = asked.body["documents"]
        scored = [(len(text) / 1000, index) for index, text in enumerate(documents)]
        scored.sort(reverse=True)
        results = [
            {"index": index, "relevance_score": score} for score, index in scored[: asked.answers]
        ]
        answer: Body = {"id": "r-1", "results": self._spoil(results)}
        entry = self._entry
        if self._path.startswith("/vllm/"):
            answer["usage"] = {
                "prompt_tokens": entry.prompt_tokens,
                "total_tokens": entry.prompt_tokens,
            }
        else:
            entry.prompt_tokens = 0
            parts = sum(max(-(-len(text.split()) // 500), 1) for text in documents)
            entry.searches = -(-parts // DOCUMENTS_PER_SEARCH)
            answer["meta"] = {"billed_units": {"search_units": float(entry.searches)}}
        return answer

    def _spoil(self, found: list[Body]) -> Any:
        """Return the answers, or what the script makes of them."""
        how = self._script.answers
        if how == "fewer":
            return found[:-1]
        if how == "more":
            return [*found, found[0]]
        if how == "twice":
            return [*found[:-1], found[0]]
        return msgspec.Raw(how.removeprefix("raw:").encode()) if how else found


def player_of(
    link: Link, request: Request, entry: Entry, serial: int, reader: Callable[[Body], Asked]
) -> PlainPlayer:
    """Return what plays the answer. Raises Refused and ScriptError."""
    try:
        body: Body = msgspec.json.decode(request.body)
    except msgspec.DecodeError as error:
        raise Refused(f"We could not parse the JSON body of your request: {error}") from None
    asked = reader(body)
    entry.model = body["model"]
    script = Chat(messages=[Message("user", text) for text in asked.texts[:1]]).script()
    entry.prompt_tokens = sum(len(text.split()) for text in asked.texts)
    return PlainPlayer(link, request, asked, script, entry, serial)
