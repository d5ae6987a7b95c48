"""LlamaIndex's OpenAI LLM: with a model that it knows as one for chat, and with others, which it
takes for models of texts and asks for at /v1/completions.

Prints one JSON line for each case: the text, and what kind of object the answer was.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable
from typing import Any

from llama_index.core.llms import ChatMessage
from llama_index.llms.openai import OpenAI

PROMPT = "script:tokens=5"


def main() -> None:
    for model in json.loads(os.environ["MODELS"]):
        for name, ask in cases_of(model).items():
            line = {"case": f"{model}: {name}", "result": ask()}
            sys.stdout.write(json.dumps(line) + "\n")


def cases_of(model: str) -> dict[str, Callable[[], Any]]:
    llm = OpenAI(
        model=model,
        api_base=os.environ["BASE_URL"],
        api_key=os.environ["KEY"],
        max_tokens=50,
        max_retries=0,
    )
    asked = [ChatMessage(role="user", content="Hello")]
    return {
        "complete": lambda: read(llm.complete(PROMPT)),
        "stream": lambda: list(llm.stream_complete(PROMPT))[-1].text,
        "async": lambda: read(asyncio.run(complete(llm))),
        "chat": lambda: llm.chat(asked).message.content,
        "chat streamed": lambda: list(llm.stream_chat(asked))[-1].message.content,
    }


async def complete(llm: OpenAI) -> Any:
    return await llm.acomplete(PROMPT)


def read(answer: Any) -> list[str]:
    return [answer.text, answer.raw.object]


main()
