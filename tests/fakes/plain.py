"""Answers to calls without a special script, made from templates: load runs live on these.

Only the id differs between two such answers, and its place has a fixed width.
"""

from __future__ import annotations

from functools import lru_cache

from tests.fakes.asked import Chat, Request
from tests.fakes.book import DONE, Entry
from tests.fakes.dialect import Writer, usage_of
from tests.fakes.generation import Generation, Step
from tests.fakes.outgoing import head
from tests.fakes.script import Script

# Any serial number whose 16 hexadecimal digits appear nowhere else in an answer.
MARK_SERIAL = 0xFACADE0FACADE0FA
MARK = b"%016x" % MARK_SERIAL


def plain_answer(chat: Chat, script: Script, entry: Entry, serial: int, second: int) -> bytes:
    """Return the whole response of a call that needs no waiting, and end its entry.

    `second` is the current one: the template names it as the moment of creation.
    """
    limit = chat.limit_tokens
    if chat.stream:
        usage = chat.wants_usage
        template, tokens = _stream_template(
            chat.model, script, limit, entry.prompt_tokens if usage else -1, second
        )
    else:
        template, tokens = _body_template(chat.model, script, limit, entry.prompt_tokens, second)
    entry.completion_tokens = tokens
    if not chat.stream or chat.wants_usage:
        entry.reported_usage = {
            "prompt_tokens": entry.prompt_tokens,
            "completion_tokens": tokens,
            "total_tokens": entry.prompt_tokens + tokens,
        }
    entry.end(DONE)
    return template.replace(MARK, b"%016x" % serial)


@lru_cache(maxsize=256)
def _body_template(
    model: str, script: Script, limit: int | None, prompt_tokens: int, second: int
) -> tuple[bytes, int]:
    chat = Chat(model=model, max_tokens=limit)
    entry, steps, finish = _generate(chat, script, prompt_tokens)
    body = Writer(chat, script, MARK_SERIAL).body(steps, finish, usage_of(script, entry))
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    return head(200, headers) + body, entry.completion_tokens


@lru_cache(maxsize=256)
def _stream_template(
    model: str, script: Script, limit: int | None, prompt_tokens: int, second: int
) -> tuple[bytes, int]:
    """`prompt_tokens` -1: the caller did not ask for usage."""
    options = {"include_usage": True} if prompt_tokens >= 0 else None
    chat = Chat(model=model, max_tokens=limit, stream=True, stream_options=options)
    entry, steps, finish = _generate(chat, script, prompt_tokens)
    writer = Writer(chat, script, MARK_SERIAL)
    chunks = [writer.chunk(0, b'{"role":"assistant","content":"","refusal":null}')]
    size = script.per_event
    chunks += [writer.step_chunk(0, steps[i : i + size]) for i in range(0, len(steps), size)]
    chunks.append(writer.chunk(0, b"{}", finish=finish))
    if options:
        chunks.append(writer.usage_chunk(usage_of(script, entry)))
    events = [b"data: " + chunk + b"\n\n" for chunk in [*chunks, b"[DONE]"]]
    framed = b"".join(b"%x\r\n%b\r\n" % (len(event), event) for event in events)
    headers = [
        (b"content-type", b"text/event-stream; charset=utf-8"),
        (b"transfer-encoding", b"chunked"),
    ]
    return head(200, headers) + framed + b"0\r\n\r\n", entry.completion_tokens


def _generate(chat: Chat, script: Script, prompt_tokens: int) -> tuple[Entry, list[Step], str]:
    generation = Generation(chat, script, Request())
    steps = list(generation)
    entry = Entry("", 1)
    entry.prompt_tokens = prompt_tokens
    entry.completion_tokens = len(steps)
    return entry, steps, generation.finish
