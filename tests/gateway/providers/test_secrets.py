"""What a provider may quote of our request: nothing that is secret, in no spelling, nor a piece."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.core.errors import ProviderRejected, UpstreamError
from gateway.core.events import StreamEvent
from gateway.providers.base import UpstreamRequest
from gateway.providers.exchange import ProviderStream, conceal_error
from gateway.providers.openai_compatible.chat import OpenAIChat
from gateway.providers.secrets import MIN_PIECE_CHARS, conceal, secrets_of
from gateway.providers.upstream_errors import MAX_MESSAGE_CHARS, read_error

SECRET = "Zk7+q/Pw=9&xT$3mLr%5vB|nHs-8dYc"
URL = "https://provider.example/v1"
VISIBLE = "".join(chr(code) for code in range(33, 127))


def pieces(text: str) -> set[str]:
    return {text[i : i + MIN_PIECE_CHARS] for i in range(len(text) - MIN_PIECE_CHARS + 1)}


def assert_nothing_left(text: str, *spellings: str) -> None:
    for spelling in spellings:
        assert not any(piece in text.lower() for piece in pieces(spelling.lower()))


RIDES: dict[str, UpstreamRequest] = {
    "a bearer": UpstreamRequest(url=URL, headers={"authorization": f"Bearer {SECRET}"}, body=b""),
    "no scheme": UpstreamRequest(url=URL, headers={"Authorization": SECRET}, body=b""),
    "x-api-key": UpstreamRequest(url=URL, headers={"x-api-key": SECRET}, body=b""),
    "api-key": UpstreamRequest(url=URL, headers={"API-Key": SECRET}, body=b""),
    "a header of its own": UpstreamRequest(url=URL, headers={"x-goog-thing": SECRET}, body=b""),
    "a query": UpstreamRequest(url=f"{URL}?v=1&key={quote(SECRET)}", headers={}, body=b""),
    "basic": UpstreamRequest(
        url=URL,
        headers={"authorization": "Basic " + base64.b64encode(f"me:{SECRET}".encode()).decode()},
        body=b"",
    ),
    "before the host": UpstreamRequest(
        url=f"https://u:{quote(SECRET, safe='')}@h.example/", headers={}, body=b""
    ),
}
SPELLINGS = {
    "as it is": SECRET,
    "in small letters": SECRET.lower(),
    "escaped for a URL": quote(SECRET, safe=""),
    "escaped for a form": quote_plus(SECRET),
    "escaped for JSON": json.dumps(SECRET)[1:-1].replace("/", "\\/"),
    "in base64": base64.b64encode(SECRET.encode()).decode(),
    "in base64 for a URL": base64.urlsafe_b64encode(SECRET.encode()).decode().rstrip("="),
    "in base64 behind a name": base64.b64encode(b"a:" + SECRET.encode() + b"!").decode(),
    "in hexadecimal": SECRET.encode().hex(),
}


@pytest.mark.parametrize("spelling", SPELLINGS.values(), ids=SPELLINGS)
@pytest.mark.parametrize("request_", RIDES.values(), ids=RIDES)
def test_no_spelling_of_a_secret_is_left(request_: UpstreamRequest, spelling: str) -> None:
    said = conceal(f"You sent <{spelling}>, twice: {spelling}.", secrets_of(request_))

    # Of what surrounds it in base64 a few letters are not the secret's.
    inner = spelling[4:-4]
    assert_nothing_left(said, inner)
    assert said.startswith("You sent <")
    assert ", twice: " in said


@given(st.text(VISIBLE, min_size=8, max_size=60), st.data())
def test_no_piece_of_a_secret_is_left(secret: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(secret) - MIN_PIECE_CHARS))
    end = data.draw(st.integers(start + MIN_PIECE_CHARS, len(secret)))

    said = conceal(f"\u00fc {secret[start:end]} \u0130", (secret.encode(),))

    assert_nothing_left(said, secret)
    assert said.startswith("\u00fc ")
    assert said.endswith(" \u0130")


def test_what_is_no_secret_stays() -> None:
    request = UpstreamRequest(
        url=URL,
        headers={"content-type": "application/json", "user-agent": "tollhouse-agent", "x-k": "abc"},
        body=b"",
    )
    text = "content-type application/json, tollhouse-agent, abc and \u2026"

    assert secrets_of(request) == ()
    assert conceal(text, secrets_of(request)) == text
    assert conceal("use EMPTY as a key", (b"EMPTY",)) == "use \u2026 as a key"


class Answering:
    """An answer of a provider that is one piece, as far as a stream asks about it."""

    broken_by = ()
    is_encoded = False

    def __init__(self, piece: bytes) -> None:
        self._piece = piece

    async def forward(self, take: Callable[[bytes], bool]) -> bool:
        assert not take(self._piece)
        return True


@pytest.mark.parametrize("cut", range(MAX_MESSAGE_CHARS - len(SECRET) - 2, MAX_MESSAGE_CHARS + 1))
async def test_nothing_is_left_where_a_text_is_cut(cut: int) -> None:
    request = RIDES["x-api-key"]
    message = "word " * (cut // 5) + "x" * (cut % 5) + SECRET + " and more" * 500
    data = b"data: " + json.dumps({"error": {"message": message, "code": 400}}).encode() + b"\n\n"
    stream = ProviderStream(Answering(data), OpenAIChat(), request)  # type: ignore[arg-type]
    failures: list[UpstreamError | None] = []

    def take(events: list[StreamEvent], failure: UpstreamError | None) -> bool:
        assert events == []
        failures.append(failure)
        return False

    assert await stream.forward(take)
    [error] = failures
    assert isinstance(error, ProviderRejected)
    # Cut out before it was cut short: not even a piece that is too short to be known is left.
    assert not any(SECRET[:size] in error.message for size in (3, 4, 5, 6, 7))
    assert_nothing_left(error.message + error.detail + error.quote + str(error), SECRET)


def test_the_address_and_escapes_of_json_are_no_way_around() -> None:
    request = RIDES["x-api-key"]
    escaped = "".join(f"\\u{ord(char):04x}" for char in SECRET)
    body = b'{"error":{"message":"At Provider.Example: %b"}}' % escaped.encode()

    error = conceal_error(read_error(422, {}, body), OpenAIChat(), request)

    told = error.message + error.detail + error.quote
    assert_nothing_left(told, SECRET)
    assert "provider.example" not in told.lower()
    assert "\\u00" not in told
