"""Where mutation starts: what the other tests send, and inputs that once broke something."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from gateway.core.forms import FormPart, write_form
from gateway.core.parameters import STEERING
from gateway.core.profiles import ALL as PROFILES
from gateway.endpoints.chat_completions.schema import KNOWN
from tests.flows.test_validation import MESSAGES, TOP_LEVEL
from tests.gateway.http import test_strict_json
from tests.gateway.outbound import test_locator
from tests.gateway.providers.framing import test_aws_event_stream, test_json_lines
from tests.support.event_stream import write_event, write_header, write_raw
from tests.support.pdf import write_pdf

FOUND = Path(__file__).with_name("found")  # found/<target>/*: kept for ever, replayed by tests
GOLDEN = Path(__file__).parents[1] / "golden"
HELLO = {"role": "user", "content": "hello"}
DATA_URL = "data:image/gif;base64,R0lGODlhAQABAAAAACw="
FULL: dict[str, Any] = {
    "model": "m",
    "messages": [
        {"role": "developer", "content": [{"type": "text", "text": "Say é 😀"}]},
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": DATA_URL}}]},
        {"role": "user", "content": [{"type": "file", "file": {"file_data": "aGVsbG8="}}]},
        {"role": "user", "content": [{"type": "file", "data": "JVBERi0=", "filename": "a/b.pdf"}]},
        {
            "role": "user",
            "content": [{"type": "input_audio", "input_audio": {"data": "SUQz", "format": "mp3"}}],
        },
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}},
                {"id": "2", "type": "custom", "custom": {"name": "c", "input": "x"}},
            ],
        },
        {"role": "tool", "content": "18°", "tool_call_id": "1"},
    ],
    "tools": [
        {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}},
        {"type": "custom", "custom": {"name": "c"}},
    ],
    "tool_choice": {"type": "function", "function": {"name": "f"}},
    "response_format": {"type": "json_schema", "json_schema": {"name": "j", "schema": {}}},
    "stream": True,
    "stream_options": {"include_usage": True},
    "max_tokens": 7,
    "max_completion_tokens": 8,
    "temperature": 0.5,
    "stop": ["a", "b"],
    "logprobs": True,
    "top_logprobs": 3,
    "logit_bias": {"7": -1.5},
    "tensorzero::episode_id": "01890000-0000-7000-8000-000000000000",
}
GUIDED: tuple[dict[str, Any], ...] = (
    {"guided_regex": "a+", "guided_whitespace_pattern": " ?"},
    {"guided_json": '{"type":"object","properties":{"a":{"$ref":"#/b"}}}'},
    {"structured_outputs": {"choice": ["a"], "grammar": None}},
    {"guided_decoding_backend": "xgrammar:fast", "chat_template_kwargs": {}},
)
ANSWER = {
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "hi"}}],
    "usage": {"prompt_tokens": 1, "completion_tokens": 2, "prompt_tokens_details": {}},
}
CONVERSE: tuple[dict[str, Any], ...] = (
    {
        "output": {
            "message": {
                "content": [
                    {"reasoningContent": {"reasoningText": {"text": "t", "signature": "s"}}},
                    {"toolUse": {"toolUseId": "1", "name": "f", "input": {}}},
                ]
            }
        },
        "stopReason": "tool_use",
        "usage": {"inputTokens": 1, "outputTokens": 2, "cacheReadInputTokens": 3},
    },
    {"contentBlockStart": {"start": {"toolUse": {"toolUseId": "1", "name": "f"}}}},
    {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"toolUse": {"input": "{}"}}}},
    {"contentBlockDelta": {"contentBlockIndex": 1, "delta": {"reasoningContent": {"text": "t"}}}},
    {"contentBlockStop": {"contentBlockIndex": 0}},
    {"messageStop": {"stopReason": "guardrail_intervened"}},
    {"metadata": {"usage": {"inputTokens": 1, "outputTokens": 2}}},
    {"throttlingException": {"message": "slow"}},
)
INPUTS: tuple[dict[str, Any], ...] = (
    {"input": "hello", "encoding_format": "float", "dimensions": 7},
    {"input": ["hello", "é 😀"], "encoding_format": "base64", "user": "u"},
    {"input": [1, 2, 3], "models": ["n"]},
    {"input": [[1], [2, 3]], "stream": False, "x": 1},
)
VECTORS: tuple[dict[str, Any], ...] = (
    {"data": [{"index": 1, "embedding": [0.5, -1e-7]}, {"index": 0, "embedding": "AACAPwAAgL8="}]},
    {"data": [{"embedding": [1]}, {"embedding": [2]}], "usage": {"prompt_tokens": 3}},
)
ENDS = (b"\n", b"\r", b"\r\n")
STREAMS = (
    *(b"\xef\xbb\xbf: hello%sdata: a%sdata:b%s%sdata%s%s" % ((end,) * 6) for end in ENDS),
    b"data: a\r\rdata: b\r\n\r\ndata: c\n\n",
    b"id: 1\nevent: x\ndata: {}\n\ndata: [DONE]",
    b"data: \xe2\x80\xa8\xc2\x85\n\n",
    b"data\n" * 70,
    b"data: " + b"x" * 70 + b"\n\n",
)
HEADS = (
    b"authorization: Bearer sk-1\ncontent-type: application/json; charset=utf-8\ncontent-length: 7",
    b"x-api-key: a\nauthorization: a\ncontent-encoding: gzip",
    b"x-compat-profile: bud\nidempotency-key: a.b:c-d_e\nx-require-parameters: TRUE",
    b"x-episode-id: 01890000-0000-7000-8000-000000000000\nx-client-request-id: r-1",
    b"x-episode-id: ffffffff-ffff-7fff-bfff-ffffffffffff",
)

EVENT_STREAMS = (
    test_aws_event_stream.STREAM,
    write_event("PayloadPart", b"data: a\n\ndata: [DONE]\n\n"),
    write_event("a", b"{}") + b"\0\0\0",
    write_raw(b"", b"\x01a\x04\0\0\0\x07" + write_header(":message-type", "event")),
)
FETCHED = (b"a.pdf\n" + write_pdf("Hello"), b"../a.csv\na,b\n1,2\n", b"\nGIF89a", b"x.json\n{}")
FORM_PARTS: tuple[list[FormPart], ...] = (
    [
        FormPart("purpose", b"user_data"),
        FormPart("file", b"\r\n--x\r\n\r\n--\0", 'a "b".pdf', "text/plain"),
    ],
    [FormPart("\u00fc", b""), FormPart("a[]", b"1"), FormPart("a[]", b"2")],
    [],
)
FORMS = (
    b"--x\r\nContent-Disposition: form-data; name=a\r\n\r\n1\r\n--x--",
    b'--x\r\ncontent-disposition:form-data;name="a%22\\""\r\nContent-Type: a\r\n\r\n\r\n--x--\r\n',
    b"--x\r\n\r\n\r\n--x--",
    b"--x--\r\nmore",
)

# What inputs are made of, where it is not taken from the seeds.
WORDS: Mapping[str, tuple[bytes, ...]] = {
    "stream": (b"data:", b"data", b"\r\n", b"\n\n", b"\r\r", b"\xef\xbb\xbf", b": ", b"id:"),
    "address": (
        *(b"http://", b"//", b"@", b"\\", b"#", b"0x7f.1", b"[::1]", b"%2e", b"127.0.0.1"),
        b":80",
    ),
    "file": (
        *(b"%PDF-", b"GIF89a", b"RIFF", b"\xff\xd8\xff", b".pdf\n", b"\0", b"ID3"),
        b"\x1a\x45",
    ),
    "form": (
        *(b"\r\n--x", b"--\r\n", b"\r\n\r\n", b"; filename=", b'\\"', b"%22", b"boundary="),
        b"Content-Disposition: form-data; name=",
    ),
}


def encode(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


def bodies() -> Iterable[bytes]:
    simple = {"model": "m", "messages": [HELLO]}
    for json_text in (*test_strict_json.REFUSED.values(), *test_strict_json.ACCEPTED.values()):
        # By itself, and where nothing but its JSON can be wrong with it.
        yield from (json_text, encode(simple)[:-1] + b',"x":' + json_text + b"}")
    yield b'{"model":"m","model":"n","messages":[{"role":"user","content":"hello"}]}'
    yield test_strict_json.CALL
    yield from (encode(simple | members) for members, _ in TOP_LEVEL)
    yield from (encode(simple | {"messages": [message]}) for message, _ in MESSAGES)
    yield from (encode(simple | members) for members in GUIDED)
    yield encode(FULL)


def forms() -> Iterable[bytes]:
    for parts in FORM_PARTS:
        content_type, body = write_form(parts)
        chosen = content_type.partition("=")[2].encode()
        yield b"multipart/form-data; boundary=y\n\x05\x01\x09" + body.replace(chosen, b"y")
    for body in FORMS:
        yield b"multipart/form-data; boundary=x\n\x05\x01\x09" + body


def provider_streams() -> Iterable[bytes]:
    for file in sorted(GOLDEN.glob("*/*.txt")):
        body = file.read_bytes().partition(b"\n\n")[2]
        yield body.replace(b"data: ", b"") if body.startswith(b"data:") else body


def seeds_of(target: str) -> list[bytes]:
    """Return the inputs that a target starts from, those found earlier included."""
    made: Mapping[str, Iterable[bytes]] = {
        "decoder": bodies(),
        "stream": (sizes + stream for stream in STREAMS for sizes in (b"\0\0\0", b"\x05\x01\x09")),
        "event_stream": (b"\x05\x01\x09" + stream for stream in EVENT_STREAMS),
        "lines": (b"\x05\x01\x09" + test_json_lines.STREAM,),
        "headers": HEADS,
        "provider": (encode(ANSWER), *map(encode, CONVERSE), *provider_streams()),
        "embeddings": (encode({"model": "m"} | members) for members in INPUTS),
        "vectors": map(encode, VECTORS),
        "address": (text.encode() for text in (*test_locator.READ, *test_locator.REFUSED)),
        "file": FETCHED,
        "form": forms(),
    }
    found = sorted((FOUND / target).glob("*"))
    return [*dict.fromkeys(made[target]), *(path.read_bytes() for path in found)]


def words_of(target: str) -> list[bytes]:
    """Return what a target's inputs are made of, for the fuzzer's dictionary."""
    if target in WORDS:
        return list(WORDS[target])
    if target == "event_stream":
        known = (b":message-type", b":event-type", b":exception-type", b":error-code")
        return [b"%c%b\x07\0" % (len(name), name) for name in known] + [b"\x05event"]
    if target == "headers":
        names = {line.split(b":")[0] for head in HEADS for line in head.split(b"\n")}
        return sorted({*names, *(profile.name.encode() for profile in PROFILES), b"Bearer "})
    marks = {b"[DONE]", b"null", b"true", b"\\ud800", b"1e400", b"-0.0", b"NaN", b"{}", b"[]"}
    return sorted(
        {encode(name) for name in (*KNOWN, *STEERING, *_names_in([FULL, ANSWER]))} | marks
    )


def _names_in(value: Any) -> Iterable[str]:
    """Yield every name and every word of a value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        inside = [*value, *value.values()] if isinstance(value, dict) else value
        for part in inside:
            yield from _names_in(part)
