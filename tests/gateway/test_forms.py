"""Forms are read as they were written, and what is none is refused."""

from __future__ import annotations

import pytest

from gateway.core.errors import RequestError
from gateway.core.form_stream import FormStream
from gateway.core.forms import MAX_HEAD_BYTES, FormPart, read_boundary, read_form, write_form

NAMES = ("a", 'with "quotes"', "ümlaut", "back\\slash", "a;b=c")


def test_what_is_written_is_read_again() -> None:
    hostile = b"\r\n--x\r\n\r\n--\r\n\0\xff"
    parts = [FormPart(name, hostile, f"{name}.mp3", "audio/mpeg") for name in NAMES]
    parts += [FormPart("plain", b""), FormPart("plain", b"twice")]

    content_type, body = write_form(parts)

    assert read_form(body, read_boundary(content_type.encode())) == parts


@pytest.mark.parametrize("cut", range(0, 120, 7))
def test_a_form_that_is_cut_short_is_refused(cut: int) -> None:
    content_type, body = write_form([FormPart("a", b"b" * 50, "c.mp3")])

    with pytest.raises(RequestError):
        read_form(body[:cut], read_boundary(content_type.encode()))


def test_a_form_of_nothing_but_boundaries_is_refused_at_once() -> None:
    with pytest.raises(RequestError):
        read_form(b"--a\r\n" * 1_000_000, b"a")


@pytest.mark.parametrize("length", range(MAX_HEAD_BYTES - 6, MAX_HEAD_BYTES + 2))
def test_both_readers_take_headers_of_the_same_length(length: int) -> None:
    """What is fuzzed is shorter (tests/fuzz/targets.py)."""
    head = b'Content-Disposition: form-data; name="a"\r\nX: '.ljust(length, b"x")
    body = b"--b\r\n%b\r\n\r\n1\r\n--b--" % head
    stream = FormStream(b"b")

    if length + 4 <= MAX_HEAD_BYTES:
        assert read_form(body, b"b") == [FormPart("a", b"1")]
        assert list(stream.feed(body)) == [FormPart("a", b""), b"1", None]
    else:
        with pytest.raises(RequestError):
            read_form(body, b"b")
        with pytest.raises(RequestError):
            list(stream.feed(body))
