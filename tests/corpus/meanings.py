"""Group C: calls that are JSON and make no sense, as the members that differ from a good one.

Where the list of bad inputs and the contract differ, the contract is kept: a limit above the
model's is lowered (C17), what the balance does not cover is lowered too (C19), a `tool` message
may answer a call that was left out (C13), service_tier, store and recursive schemas are the
provider's business (C28, C34). Files by their id are refused for there are none yet (C40).
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.corpus.bodies import HELLO

NONE = "http://127.0.0.1:9/none"
PIXEL = base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"\0" * 32).decode()
WAV = base64.b64encode(b"RIFF\x24\0\0\0WAVEfmt ").decode()

# The beginning of a PNG of 60,000 x 60,000 pixels.
HUGE_PICTURE = base64.b64encode(
    b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sIIBBBBB", 13, b"IHDR", 60_000, 60_000, 8, 0, 0, 0, 0)
).decode()


@dataclass(frozen=True)
class Case:
    """status, code and param of the refusal."""

    id: str
    members: dict[str, Any]
    param: str | None
    code: str = "invalid_request"
    status: int = 400


def user(content: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": content}]}


def tool(name: Any = "look", **more: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name} | more}


def tool_call(number: int = 0) -> dict[str, Any]:
    return {"id": f"call_{number}", "type": "function", "function": {"name": "f", "arguments": ""}}


def schema(**parts: Any) -> dict[str, Any]:
    return {"type": "json_schema", "json_schema": {"name": "answer", "schema": parts}}


def nested(depth: int, value: Any = "hi") -> Any:
    for _ in range(depth):
        value = [value]
    return value


def names_of_models() -> Iterator[Case]:
    """C4 and C5: names that are almost the name of a model."""
    near = [
        *("Fake-Model", "FAKE-MODEL", "fake-model ", " fake-model", "fake-model.", "fake-model\n"),
        *("fake-model:free", "fake-model:chat:chat", "fake-model@latest", "fake-model/", "./model"),
        *(
            "fake%2Dmodel",
            "fake-model%20",
            "../fake-model",
            "fake-model/../free-model",
            "fake_model",
        ),
        *("fake\u2010model", "fаke-model", "ｆake-model", "fake-model\u200b", "fake-model\0"),  # noqa: RUF001
        *(
            "fake",
            "fake-mode",
            "fake-modell",
            "openai/fake-model",
            "fake/fake-model",
            "0",
            "*",
            "%",
        ),
        *("' OR 1=1 --", "{{7*7}}", "${jndi:ldap://127.0.0.1/x}", "<script>", "null", "__proto__"),
        *("tensorzero::model_name::none", "fake-model,free-model"),
        *("\U0001f600", "\u202emodel", "m" * 256, "tensorzero::model_name::openai::gpt-4o"),
    ]
    for name in near:
        yield Case(f"C4 {name[:30]!r}", {"model": name}, "model", "model_not_found", 404)
    for name in ("tensorzero::", "tensorzero::model_name::", "tensorzero::function_name::"):
        yield Case(f"C4 {name}", {"model": name}, "model")
    for name in ("tensorzero::function_name::f", "tensorzero::f"):
        yield Case(f"C4 {name}", {"model": name}, "model", "function_not_found", 404)
    for wrong in ("", "m" * 257, 7, ["fake-model"], {"id": "fake-model"}, True, None):
        yield Case(f"C4 {wrong!r:.20}", {"model": wrong}, "model")
    for models in (["none"], ["fake-model", "none"], ["free-model", "free-model "]):
        where = f"models[{len(models) - 1}]"
        yield Case(f"C5 {models}", {"models": models}, where, "model_not_found", 404)
    yield Case("C5 a text", {"models": "free-model"}, "models")
    yield Case("C5 six", {"models": ["free-model"] * 6}, "models")
    for wrong in (7, "", "m" * 257, None, ["free-model"]):
        yield Case(f"C5 {wrong!r:.20}", {"models": [wrong]}, "models[0]")


def messages() -> Iterator[Case]:
    """C8 to C12: who says what."""
    wrong: Any
    role: Any
    content: Any
    kind: Any
    text: Any
    for wrong in (None, [], {}, {"0": HELLO}, "hi", 7):
        yield Case(f"C8 {wrong!r:.20}", {"messages": wrong}, "messages")
    yield Case("C8 100,001", {"messages": [7] * 100_001}, None, "invalid_json")
    yield Case("C8 20,000", {"messages": [HELLO] * 20_000}, None, "invalid_json")
    for role in ("ROOT", "User", "user ", "", None, 7, ["user"], {"a": 1}, "critic"):
        message = {"role": role, "content": "hi"}
        yield Case(f"C9 {role!r}", {"messages": [HELLO, message]}, "messages[1].role")
    yield Case("C9 none", {"messages": [{"content": "hi"}]}, "messages[0].role")
    for content in (None, 7, True, [], {}, {"type": "text", "text": "hi"}):
        yield Case(f"C10 {content!r:.20}", user(content), "messages[0].content")
    yield Case("C10 none", {"messages": [{"role": "user"}]}, "messages[0].content")
    part = "messages[0].content[0]"
    yield Case("C10 a text in a list", user(["hi"]), part)
    yield Case("C10 20 lists", user(nested(20)), part)
    for kind in ("video", "TEXT", "", None, 7, "refusal", "tool_use", "image"):
        yield Case(f"C12 {kind!r}", user([{"type": kind, "text": "hi"}]), f"{part}.type")
    yield Case("C12 no type", user([{"text": "hi"}]), f"{part}.type")
    for text in (None, 7, {}, ["hi"]):
        yield Case(f"C12 {text!r}", user([{"type": "text", "text": text}]), f"{part}.text")
    yield Case("C12 no text", user([{"type": "text"}]), f"{part}.text")


def tool_talk() -> Iterator[Case]:
    """C13, C29 and C31: tools, and what is said about them."""
    wrong: Any
    name: Any
    choice: Any
    answer = {"role": "tool", "content": "42"}
    yield Case("C13 no id", {"messages": [HELLO, answer]}, "messages[1].tool_call_id")
    for wrong in ("", None, 7, []):
        message = answer | {"tool_call_id": wrong}
        yield Case(f"C13 {wrong!r}", {"messages": [message]}, "messages[0].tool_call_id")
    calls = [tool_call(number) for number in range(1_001)]
    assistant = {"role": "assistant", "tool_calls": calls}
    yield Case("C13 1,001", {"messages": [assistant]}, "messages[0].tool_calls")
    assistant = {"role": "assistant", "tool_calls": calls * 10}
    yield Case("C13 10,000", {"messages": [assistant]}, None, "invalid_json")
    tools = [tool(f"t{number}") for number in range(1_000)]
    yield Case("C29 1,000", {"tools": tools}, "tools")
    yield Case("C29 twice", {"tools": [tool(), tool()]}, "tools[1].function.name")
    for name in ("two words", "", "n" * 65, "look\n", "löok", "a.b", None, 7, "../look", "look()"):
        yield Case(f"C29 {name!r:.12}", {"tools": [tool(name)]}, "tools[0].function.name")
    for wrong in (7, "x", []):
        members = {"tools": [tool(parameters=wrong)]}
        yield Case(f"C29 parameters {wrong!r}", members, "tools[0].function.parameters")
    for choice in ("sometimes", 7, []):
        yield Case(f"C29 {choice!r}", {"tool_choice": choice}, "tool_choice")
    yield Case(
        "C29 another", {"tools": [tool()], "tool_choice": tool("a")}, "tool_choice.function.name"
    )
    for wrong in ("yes", 1, []):
        yield Case(f"C31 {wrong!r}", {"parallel_tool_calls": wrong}, "parallel_tool_calls")


def numbers() -> Iterator[Case]:
    """C16 to C25: how much, how likely, how often."""
    ranges: dict[str, tuple[Any, ...]] = {
        "n": (0, -1, 1.5, 129, 10**9, "2"),
        "max_tokens": (0, -1, 1.5, 2**53 + 1, "10"),
        "max_completion_tokens": (0, -1, 1.5, 2**53 + 1, "10"),
        "temperature": (-0.01, 2.01, "1", True, []),
        "top_p": (-0.01, 1.01, 2, "1"),
        "frequency_penalty": (-3, 3, 2.01, "1"),
        "presence_penalty": (-3, 3, -2.01, "1"),
        "seed": (2**70, -(2**70), 0.5, "1"),
        "top_k": (-1, 0.5, "1"),
        "logit_bias": ([], "x", {"7": 101}, {"7": -101}, {"7": 1000}, {"7": "1"}),
        "stream": ("true", 1, 0, [], "false"),
        "stream_options": (7, "x", []),
        "logprobs": (1, "yes"),
        "stop": (7, {}, ["a"] * 5, ["a"] * 1_000, "", "x" * 10_240),
        "user": (7, "u" * 257, "u" * 10_240, "a\0b", "a\nb", "\x1b[31mred", "a\x7f", "a\n"),
        "reasoning_effort": ("extreme", 7, ""),
        "metadata": ("x", 7, []),
    }
    for name, values in ranges.items():
        for value in values:
            yield Case(f"{name} {value!r:.20}", {name: value}, name)
    for name in ("hello", "-1", "1.5", "", "7 ", "99999999999", "\u0667"):
        yield Case(f"C23 a token called {name!r}", {"logit_bias": {name: 1}}, "logit_bias")
    many = {str(number): 1 for number in range(1_025)}
    yield Case("C23 1,025 tokens", {"logit_bias": many}, "logit_bias")
    many = {str(number): 1 for number in range(10_000)}
    yield Case("C23 10,000 tokens", {"logit_bias": many}, None, "invalid_json")
    for value, place in (([1], 0), (["a", 1], 1), (["a", ""], 1), (["x" * 10_240], 0)):
        yield Case(f"C24 {value!r:.20}", {"stop": value}, f"stop[{place}]")
    yield Case(
        "C17 one of two", {"max_tokens": 5, "max_completion_tokens": -5}, "max_completion_tokens"
    )


def formats() -> Iterator[Case]:
    """C28: what the answer shall look like."""
    wrong: Any
    pattern: Any
    path = "response_format.json_schema.schema"
    outside = ("http://127.0.0.1:9/a.json", "https://x.example/a", "file:///etc/passwd", "//x", "a")
    for place in outside:
        yield Case(f"C28 {place}", {"response_format": schema(**{"$ref": place})}, path)
        deep = {"type": "object", "properties": {"a": {"items": [{"anyOf": [{"$ref": place}]}]}}}
        yield Case(f"C28 deep {place}", {"response_format": schema(**deep)}, path)
        yield Case(f"C28 guided {place}", {"guided_json": {"$ref": place}}, "guided_json")
    for wrong in (7, "json", [], {"type": "yaml"}, {"type": "json_schema"}):
        param = {"yaml": ".type", "json_schema": ".json_schema"}
        kind = wrong["type"] if isinstance(wrong, dict) else ""
        yield Case(
            f"C28 {wrong!r}", {"response_format": wrong}, f"response_format{param.get(kind, '')}"
        )
    for wrong in ({"type": {}}, {"type": [{}]}, {"type": [[]]}, {"type": 7}, {"properties": 7}):
        yield Case(f"C28 guided {wrong}", {"guided_json": wrong}, "guided_json")
    for pattern in (7, "", [], "x" * 5_000):
        yield Case(f"a pattern {pattern!r:.9}", {"guided_regex": pattern}, "guided_regex")
        parted = {"structured_outputs": {"whitespace_pattern": pattern}}
        path = "structured_outputs.whitespace_pattern"
        yield Case(f"a pattern inside {pattern!r:.9}", parted, path)
    grammar = {"guided_grammar": "x" * 70_000}
    yield Case("a long grammar", grammar, "guided_grammar")


def media() -> Iterator[Case]:
    """C36 to C40: images, sounds and files."""
    kind: Any
    image, sound = "messages[0].content[0].image_url", "messages[0].content[0].input_audio"
    for url in (
        *(
            "file:///etc/passwd",
            "ftp://127.0.0.1/a",
            "gopher://127.0.0.1:70/_",
            "dict://127.0.0.1/",
        ),
        *("javascript:alert(1)", "blob:https://x.example/1", "//x.example/a.png", "a.png", "", " "),
        *("http:", "http://", "https:///a", "http:\\\\x", "\thttp://x.example", "httpx://a"),
        "https://x.example/" + "a" * 10_000,
    ):
        yield Case(
            f"C36 {url[:20]!r}",
            user([{"type": "image_url", "image_url": {"url": url}}]),
            f"{image}.url",
        )
        yield Case(
            f"C36 plain {url[:20]!r}", user([{"type": "image_url", "image_url": url}]), image
        )
    for url in (
        *(
            "data:",
            "data:image/png;base64",
            "data:image/png;base64,",
            "data:,",
            "data:text/html,hi",
        ),
        *(
            "data:image/png;base64,!!!!",
            "data:image/png;base64,QUJD",
            f"data:image/png;base64,{HUGE_PICTURE}",
        ),
        *("data:" + ";base64" * 120_000, "data:" + ";a" * 400_000, "data:image/png," + "%" * 99),
    ):
        part = {"type": "image_url", "image_url": {"url": url}}
        yield Case(f"C36 {url[:32]!r}", user([part]), f"{image}.url", "invalid_file")
    for kind in ("ogg", "", None, "WAV", 7):
        part = {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": kind}}
        yield Case(f"C38 {kind!r}", user([part]), f"{sound}.format")
    for data in ("", "!!!!", "UklGRg==", PIXEL):
        part = {"type": "input_audio", "input_audio": {"data": data, "format": "mp3"}}
        yield Case(f"C38 {data[:8]!r}", user([part]), f"{sound}.data", "invalid_file")
    block = "messages[0].content[0]"
    same = [{"type": "file", "file_id": "file-abc"}] * 1_000
    yield Case("C40", user(same), block, "file_not_found")
    yield Case(
        "C40 nested", user([{"type": "file", "file": {"file_id": "f"}}]), block, "file_not_found"
    )
    sound_file = {"type": "file", "file": {"filename": "a.wav", "file_data": WAV}}
    yield Case("a sound", user([sound_file]), f"{block}.file.file_data", "invalid_file")
    away = {"type": "file", "file": {"file_url": NONE}}
    yield Case("a file inside", user([away]), f"{block}.file.file_url", "invalid_file")
    many = [{"type": "file", "file_url": NONE}] * 6
    too_many = "messages[0].content[5].file_url"
    yield Case("more files than are fetched", user(many), too_many, "invalid_request")


def steering() -> Iterator[Case]:
    """C44 and T1: where we connect, and what runs there, is no caller's business."""
    for name in (
        *("api_base", "base_url", "api_key", "custom_llm_provider", "deployment_id"),
        *("extra_headers", "extra_body", "url_idx", "organization"),
    ):
        yield Case(f"T1 {name}", {name: NONE}, name)
    plugins = [{"id": "web_fetch", "urls": [NONE] * 1_000}]
    yield Case("C44", {"plugins": plugins}, "plugins[0].urls")
    for name in ("cache_options", "extra_body", "extra_headers", "params", "tags"):
        name = f"tensorzero::{name}"
        yield Case(name, {name: {"url": NONE}}, name, "unsupported_parameter")
    yield Case("a name of 257 characters", {"x" * 257: 1}, None)
    for episode in ("x", "", "0", "ffffffff-ffff-7fff-bfff-ffffffffffff"):
        name = "tensorzero::episode_id"
        yield Case(f"an episode {episode!r}", {name: episode}, name)


CASES = [
    *names_of_models(),
    *messages(),
    *tool_talk(),
    *numbers(),
    *formats(),
    *media(),
    *steering(),
]

PRICED: dict[str, Any] = {"price": -1, "cost": -0.5, "charge_nusd": -(10**9), "credits": 9}
PRICED |= {"workspace_id": "other"}
ASSISTANT = {"role": "assistant", "content": None, "tool_calls": [tool_call(), tool_call()]}
# Calls that are odd and good, for a model of a provider and for the simulated one.
SERVED: dict[str, dict[str, Any]] = {
    "C4 its service": {"model": "fake-model:chat"},
    "C11 an empty text": user(""),
    "C11 an empty part": user([{"type": "text", "text": ""}]),
    "C13 ids that are the same": {
        "messages": [HELLO, ASSISTANT, {"role": "tool", "content": "42", "tool_call_id": "call_0"}]
    },
    "C13 an answer to nothing": {
        "messages": [HELLO, {"role": "tool", "content": "42", "tool_call_id": "call_7"}]
    },
    "C15 only a system": {"messages": [{"role": "system", "content": "Be brief."}]},
    "C15 only an assistant": {"messages": [{"role": "assistant", "content": "Yes."}]},
    "C17 beyond all": {"max_tokens": 10**12},
    "C17 two": {"max_tokens": 5, "max_completion_tokens": 7},
    "C22 at the edge": {"top_p": 0, "temperature": 2, "presence_penalty": -2, "seed": -(2**63)},
    "C23 at the edge": {"logit_bias": {"0": -100, "4294967295": 100}},
    "C24 at the edge": {"stop": ["x" * 4_096, "\n", "\0", " "]},
    "C28 a schema that refers to itself": {
        "response_format": schema(type="object", properties={"next": {"$ref": "#"}})
    },
    "C28 a circle": {
        "response_format": schema(**{"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}})
    },
    "C28 a reference that is a name": {
        "response_format": schema(type="object", properties={"$ref": {"type": "string"}})
    },
    "C29 a large schema": {"tools": [tool(parameters={"description": "x" * 900_000})]},
    "C29 512": {"tools": [tool(f"t{number}") for number in range(512)]},
    "C33 somebody else": {"user": "00000000-0000-0000-0000-000000000001"},
    "C34": {"service_tier": "flex", "store": True},
    "C50 functions": {"functions": [{"name": "f", "parameters": {}}], "function_call": "auto"},
    "C54": {"metadata": {name: str(value) for name, value in PRICED.items()}},
    "C54 beside": PRICED,
    "a tool of the newest kind": {"tools": [{"type": "custom", "custom": {"name": "look"}}]},
    "tools that may be chosen": {
        "tools": [tool()],
        "tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": []}},
    },
    "a custom tool chosen": {
        "tools": [{"type": "custom", "custom": {"name": "look"}}],
        "tool_choice": {"type": "custom", "custom": {"name": "look"}},
    },
}

# What the simulated model makes of scripts and schemas that are none: an answer, or a refusal.
SCRIPTS = [
    *("tokens=inf", "tokens=nan", "tokens=-1", "tokens=1e300", "tokens=x", "reasoning=1e300"),
    *("first_ms=nan", "first_ms=-1", "delay_ms=inf", "fail=1", "fail=200", "fail=99999", "fail=-7"),
    *(
        "fail=nan",
        "finish=",
        "tool=",
        "tool=a&arguments=x",
        "text=",
        "fail_after=0",
        "break_after=0",
    ),
    *("&&==%zz", "%00", "tokens=0&reasoning=0", "x=" + "y" * 10_000),
]
NO_SCHEMAS: list[dict[str, Any]] = [
    {"properties": 7},
    {"enum": 7},
    {"anyOf": 7},
    {"anyOf": {"a": 1}},
    {"type": "integer", "minimum": "a"},
    {"type": "number", "minimum": []},
    {"type": "array", "minItems": "many"},
    {"$ref": "#/a/b/c"},
    {"$ref": 7},
    {"type": 7},
    {"type": [[]]},
    {"const": {"a": 1}},
]
