"""What the strict decoder refuses, class by class, and what it must let through."""

from __future__ import annotations

import json

import pytest

from gateway.core.errors import InvalidJson
from gateway.http import strict_json

REFUSED = {
    "empty": b"",
    "only spaces": b" \n\t ",
    "byte order mark": b"\xef\xbb\xbf{}",
    "UTF-16": "{}".encode("utf-16"),
    "UTF-32": "{}".encode("utf-32"),
    "invalid byte": b'{"a":"\xff"}',
    "overlong form": b'{"a":"\xc0\xaf"}',
    "encoded surrogate": b'{"a":"\xed\xa0\x80"}',
    "lone surrogate escape": b'{"a":"\\ud800"}',
    "surrogates in the wrong order": b'{"a":"\\udc00\\ud800"}',
    "raw control character": b'{"a":"\x01"}',
    "NaN": b'{"a":NaN}',
    "Infinity": b'{"a":-Infinity}',
    "beyond a double": b'{"a":1e400}',
    "5,000 digits": b'{"a":' + b"9" * 5000 + b"}",
    "leading zero": b'{"a":01}',
    "trailing comma": b'{"a":1,}',
    "two values": b"{}{}",
    "comment": b'{"a":1}//',
    "single quotes": b"{'a':1}",
    "same name twice": b'{"a":1,"a":2}',
    "same name, space before the colon": b'{"a":1,"a" :2}',
    "same name, escaped": b'{"model":"x","mod\\u0065l":"y"}',
    "same name, deep": b'{"m":[{"b":"x:y","b":1}]}',
    "same empty name": b'{"":1,"":2}',
    "65 deep": b"[" * 65 + b"]" * 65,
    "100,000 deep": b"[" * 100_000,
    "a string that never ends, after brackets": b"[" + b"[]," * 65 + b'"' + b'\\"' * 500_000,
    "a string that ends in half an escape": b"[" + b"[]," * 65 + b'"a\\',
    "100,001 lists": b"[" + b"[]," * 100_000 + b"[]]",
    "300,000 texts": b"[" + b"[]," * 65 + b'"",' * 300_000 + b"[]]",
    "100,001 numbers": b"[" + b"1," * 100_000 + b"1]",
    "10,001 names": json.dumps({f"k{n}": 1 for n in range(10_001)}).encode(),
}
ACCEPTED = {
    "colons and braces inside strings": b'{"a":"x:\\"y\\":{[","b":":"}',
    "64 deep": b"[" * 64 + b"]" * 64,
    "brackets inside a string": b'"' + b"[" * 1000 + b'"',
    "escaped pair": b'{"a":"\\ud83d\\ude00"}',
    "NUL escape": b'{"a":"\\u0000"}',
    "noncharacters": '{"a":"\ufffe\U0001ffff\u202e"}'.encode(),
    "same name in different objects": b'[{"a":1},{"a":{"a":1}}]',
    "10,000 names": json.dumps({f"k{n}": 1 for n in range(10_000)}).encode(),
    "100,000 numbers": b"[" + b"1," * 99_999 + b"1]",
    "100 objects, and brackets in strings": b"[" + b'{"a":"]}\\""},' * 99 + b"{}]",
    "spaces around": b"  {} \n",
}
CALL = json.dumps(
    {
        "model": "m",
        "messages": [{"role": "user", "content": 'Say "é": {now}'}],
        "tools": [{"type": "function", "function": {"name": "f", "parameters": {"a": [1, -0.5]}}}],
        "stop": ["\u2028", "\\"],
    },
    ensure_ascii=False,
).encode()


@pytest.mark.parametrize("body", REFUSED.values(), ids=REFUSED.keys())
def test_what_could_be_read_in_two_ways_is_refused(body: bytes) -> None:
    with pytest.raises(InvalidJson) as caught:
        strict_json.check(body)

    assert caught.value.status == 400
    assert caught.value.message


@pytest.mark.parametrize("escapes", ["\\ud83d", "\\ude00", "\\ude00\\ud83d", "\\ud83d\\u0041"])
@pytest.mark.parametrize("rest", ["", " and so on, for a while"])
def test_half_a_surrogate_pair_is_told(escapes: str, rest: str) -> None:
    with pytest.raises(InvalidJson, match="one half of a surrogate pair"):
        strict_json.check(b'{"a":"%b%b"}' % (escapes.encode(), rest.encode()))


@pytest.mark.parametrize("body", ACCEPTED.values(), ids=ACCEPTED.keys())
def test_what_is_plain_json_is_let_through(body: bytes) -> None:
    strict_json.check(body)


def test_a_call_cut_off_at_any_byte_is_refused() -> None:
    for length in range(len(CALL)):
        with pytest.raises(InvalidJson):
            strict_json.check(CALL[:length])


def test_a_call_with_any_bit_flipped_is_refused_or_read() -> None:
    for position in range(len(CALL) * 8):
        flipped = bytearray(CALL)
        flipped[position // 8] ^= 1 << (position % 8)

        try:
            strict_json.check(bytes(flipped))
        except InvalidJson:
            continue
        json.loads(bytes(flipped))
