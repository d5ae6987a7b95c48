"""Group J: bodies of calls, as bytes. What could be read in two ways is no JSON here.

One code stands for all of it: where the list of bad inputs has a code of its own for a doubled
name, a number out of range or too deep a nesting, the contract knows `invalid_json` alone.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

HELLO = {"role": "user", "content": "hi"}
BOUNDED = ("max_tokens", "max_completion_tokens", "n", "seed")
MB = 1024 * 1024


@dataclass(frozen=True)
class Case:
    """status, code and param of the refusal. param "" is not looked at."""

    id: str
    body: bytes
    code: str = "invalid_json"
    param: str | None = ""
    status: int = 400
    headers: tuple[str, ...] = ()


def call(*members: bytes, **more: Any) -> bytes:
    """Return a good call with more members, as JSON already or as values."""
    whole = json.dumps({"model": "fake-model", "messages": [HELLO]} | more).encode()
    return whole[:-1] + b"".join(b"," + member for member in members) + b"}"


def saying(text: bytes) -> bytes:
    """Return a call whose user says these bytes, as they stand between the quotes."""
    return call().replace(b'"hi"', b'"' + text + b'"')


def not_json() -> Iterator[Case]:
    """J1 and what else is none."""
    good = call()
    wrong = {
        "J1 empty": b"",
        "J1 spaces": b" \r\n\t",
        "J1 a vertical tab": b"\x0b",
        "J1 a NUL": b"\0",
        "two values": good + good,
        "lines of JSON": good + b"\n" + good,
        "a comma behind": good + b",",
        "a comma at the end": good[:-1] + b",}",
        "a comment": good + b" // hello",
        "a comment inside": good[:-1] + b"/* */}",
        "a comment with a hash": b"# hello\n" + good,
        "single quotes": good.replace(b'"', b"'"),
        "names without quotes": b"{model:1}",
        "no colon": b'{"model" "fake-model"}',
        "capitals": call(b'"stream":TRUE'),
        "undefined": call(b'"stream":undefined'),
        "a line feed in a string": saying(b"a\nb"),
        "a tab in a string": saying(b"a\tb"),
        "J13 a NUL in a string": saying(b"a\0b"),
        "an escape that is none": saying(rb"\x41"),
        "half an escape": saying(rb"\u00e"),
        "an escape at the end": b'"\\',
        "a guard": b")]}',\n" + good,
        "a form": b"model=fake-model&messages=hi",
        "an event": b"data: " + good,
        "XML": b"<model>fake-model</model>",
        "MessagePack": b"\x82\xa5model\xa10\xa8messages\x90",
        "a closing bracket": good + b"}",
        "another closing bracket": good[:-1] + b"]",
    }
    yield from (Case(name, body) for name, body in wrong.items())


def no_calls() -> Iterator[Case]:
    """J2: JSON that is no call."""
    for body in (b"[]", b"7", b'"text"', b"null", b"true", b"[" + call() + b"]"):
        yield Case(f"J2 {body[:9]!r}", body, "invalid_request", None)
    yield Case("J2 {}", b"{}", "invalid_request", "model")
    yield Case("J2 no messages", b'{"model":"fake-model"}', "invalid_request", "messages")
    yield Case("J38", call().replace(b'"model"', b'"model "'), "invalid_request", "model")
    for name in ("model ", "Model", "MODEL"):
        beside = call(f'"{name}":"free-model"'.encode())
        yield Case(f"J38 {name!r} beside the real one", beside, "invalid_request", name)
    yield Case("J38 capitals", call().replace(b"model", b"Model", 1), "invalid_request", "model")


def encodings() -> Iterator[Case]:
    """J9 to J11: bytes that are not UTF-8."""
    for name in ("utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"):
        yield Case(f"J9 {name}", call().decode().encode(name))
    yield Case("J9 a byte order mark", b"\xef\xbb\xbf" + call())
    yield Case("J9 a byte order mark behind", call() + b"\xef\xbb\xbf")
    wrong = {
        "J10 a byte": b"\xff",
        "J10 Latin-1": b"caf\xe9",
        "J10 overlong slash": b"\xc0\xaf",
        "J10 overlong, three bytes": b"\xe0\x80\xaf",
        "J10 overlong, four bytes": b"\xf0\x80\x80\xaf",
        "J10 overlong NUL": b"\xc0\x80",
        "J10 cut short": b"\xe6\x97",
        "J10 a tail without its head": b"\x80",
        "J10 beyond the last character": b"\xf4\x90\x80\x80",
        "J10 five bytes": b"\xf8\x88\x80\x80\x80",
        "J11 half a pair": b"\xed\xa0\x80",
        "J11 a pair": b"\xed\xa0\xbd\xed\xb8\x80",
        "J11 half a pair, escaped": rb"\ud83d",
        "J11 the other half, escaped": rb"\ude00",
        "J11 a pair the wrong way round": rb"\ude00\ud83d",
        "J11 half a pair and a letter": rb"\ud83dx",
    }
    for name, text in wrong.items():
        yield Case(name, saying(text))
        yield Case(f"{name}, in a name", call(b'"x' + text + b'":1'))


def doubles() -> Iterator[Case]:
    """J16 to J18: the same name twice."""
    doubled = {
        "J16 another last": call(b'"model":"free-model"'),
        "J16 another first": b'{"model":"free-model",' + call()[1:],
        "J16 the same": call(b'"model":"fake-model"'),
        "J16 messages": call(b'"messages":[]'),
        "J16 three times": call(b'"n":1,"n":1,"n":1'),
        "J16 of an unknown one": call(b'"x":1,"x":1'),
        "J16 the empty one": call(b'"":1,"":1'),
        "J17": call(rb'"mod\u0065l":"free-model"'),
        "J17 all of it": call(rb'"\u006d\u006f\u0064\u0065\u006c":"free-model"'),
        "J18 a role": call().replace(b'"role"', b'"role":"system","role"'),
        "J18 in metadata": call(b'"metadata":{"a":{"b":[{"c":1,"c":1}]}}'),
        "J18 with colons around": call(b'"metadata":{"a:":":","a:":":"}'),
        "J18 with a space before the colon": call(b'"metadata":{"a" :1,"a"\n:1}'),
    }
    yield from (Case(name, body) for name, body in doubled.items())


def numbers() -> Iterator[Case]:
    """J20 to J23: numbers that are none, or too large, or no integers."""
    none = ("NaN", "Infinity", "-Infinity", "+1", "01", "-01", ".5", "1.", "0x10", "1_0", "-", "1e")
    for text in none:
        yield Case(f"{text} is no number", call(b'"temperature":' + text.encode()))
    large = {
        "J20": "1e400",
        "J20 negative": "-1e400",
        "J20 far": "1e99999999",
        "J21": "9" * 5_000,
        "J21 negative": "-" + "9" * 5_000,
        "J21 with a point": "9" * 5_000 + ".5",
    }
    for (name, text), where in product(large.items(), ('"temperature":%s', '"x":[{"y":%s}]')):
        yield Case(f"{name} {where[:5]}", call((where % text).encode()))
    for field, value in product(BOUNDED, (2**63, 2**64, 10**300)):
        yield Case(f"J22 {field} {value:.0e}", call(**{field: value}), "invalid_request", field)
    for field, text in product(
        (*BOUNDED, "top_k"), ("1.0", "1e0", "0.5", '"1"', "true", "[1]", "{}")
    ):
        body = call(f'"{field}":{text}'.encode())
        yield Case(f"J23 {field} {text}", body, "invalid_request", field)
    for field in ("max_tokens", "max_completion_tokens", "n"):
        yield Case(f"J23 {field} -0", call(f'"{field}":-0'.encode()), "invalid_request", field)


def amounts() -> Iterator[Case]:
    """J26 to J28: too deep, too many."""
    many = {f"k{number}": 1 for number in range(10_001)}
    # What collides where a string's hash is 31 times the one before and the next character.
    alike = {"".join(parts): 1 for parts in product(("Aa", "BB"), repeat=14)}
    deep = {
        "J26 lists": b"[" * 100_000,
        "J26 lists, closed": b"[" * 100_000 + b"]" * 100_000,
        "J26 objects": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
        "J26 both": b'[{"a":' * 50_000,
        "J26 65": b"[" * 65 + b"]" * 65,
        "J26 behind a string that never ends": b"[]" * 65 + b'"' + b'\\"' * 400_000,
        "J26 in a call": call(b'"x":' + b"[" * 64 + b"]" * 64),
        "J27": call(b'"tools":' + b'[{"a":' * 33 + b"1" + b"}]" * 33),
        "J28 names": json.dumps(many).encode(),
        "J28 names in objects": json.dumps([{"a": 1}] * 10_001).encode(),
        "J28 names that collide": json.dumps(alike).encode(),
        "J28 in metadata": call(metadata=many),
        "J28 lists": b"[" + b"[]," * 200_000 + b"[]]",
        "J28 lists behind each other": b"[]" * 400_000,
        "J28 numbers": b"[" + b"1," * 400_000 + b"1]",
        "J28 empty strings": b"[" + b'[],"",' * 100_000 + b"1]",
    }
    yield from (Case(name, body) for name, body in deep.items())


def types() -> Iterator[Case]:
    """J7, J33 and J34: what the head says about the body."""
    for kind in (
        *("text/plain", "text/json", "application/x-www-form-urlencoded", "application/jsonp"),
        *("multipart/form-data; boundary=x", "application/octet-stream", "application/xml", "json"),
        *(
            "application/jsonx",
            "application/json, text/plain",
            "*/*",
            "text/plain;application/json",
        ),
    ):
        header = f"Content-Type: {kind}"
        yield Case(header, call(), "invalid_request", "Content-Type", headers=(header,))
    bomb = gzip.compress(b" " * 50 * MB)
    coded = {
        "gzip": gzip.compress(call()),
        "gzip, gzip": gzip.compress(gzip.compress(call())),
        "x-gzip": bomb,
        "GZIP": bomb,
        "deflate": zlib.compress(call()),
        "br": b"\x0b\x02\x80{}\x03",
        "zstd": b"\x28\xb5\x2f\xfd",
        "identity, gzip": bomb,
        "none": call(),
    }
    for coding, body in coded.items():
        header = f"Content-Encoding: {coding}"
        yield Case(f"J33 {coding}", body, "invalid_request", "Content-Encoding", headers=(header,))
    yield Case("J33 not said", bomb)


def lengths() -> Iterator[Case]:
    """J30 and J32, at a server whose limit is 1 MB."""
    yield Case("J32 one string", saying(b"x" * MB), "payload_too_large", None, 413)
    yield Case("J31 spaces", b" " * MB + call(), "payload_too_large", None, 413)
    yield Case("C28 a schema", call(response_format="x" * MB), "payload_too_large", None, 413)


CASES = [
    *not_json(),
    *no_calls(),
    *encodings(),
    *doubles(),
    *numbers(),
    *amounts(),
    *types(),
    *lengths(),
]

ZALGO = "".join(chr(0x300 + number % 0x70) for number in range(30_000))
# Bodies that are odd and good. They say script:echo, so what reached the provider comes back.
SERVED = {
    "J13 an escaped NUL": b'"metadata":{"a":"\\u0000"}',
    "J15 noncharacters": '"metadata":{"a":"\ufffe\uffff\U0010ffff"}'.encode(),
    "J15 bidi": '"metadata":{"a":"\u202e\u2066\u200f\u2069"}'.encode(),
    "J15 zalgo": f'"x":{{"a":"{ZALGO}"}}'.encode(),
    "J15 line separators": '"metadata":{"a":"\u2028\u2029\u0085"}'.encode(),
    "J23 -0": b'"seed":-0,"top_k":-0,"temperature":-0.0',
    "a number too small to be told from 0": b'"x":{"a":1e-400}',
    "J22 2^53+1 and 2^64 where nothing is bounded": b'"x":{"a":[9007199254740993,2E+19]}',
    "J31 spaces": b" " * 900_000 + b'"n":1',
    "J36 __proto__": b'"__proto__":{"admin":true},"constructor":{"prototype":{"a":1}}',
    "J36 __class__": b'"__class__":"Admin","__init__":{"__globals__":{}}',
    "J36 $where": b'"metadata":{"$where":"1","$ref":"#","$gt":""}',
    "an empty name": b'"":1',
    "64 deep": b'"x":' + b"[" * 63 + b"]" * 63,
    "brackets in strings": b'"x":{"a":"' + b"[{" * 10_000 + b'"}',
}
