"""Uploads of many megabytes that are no form, or no JSONL: refused, and nothing of them is kept."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import pytest

from tests.flows.caller import Caller
from tests.flows.site import Site
from tests.flows.stored_files.asking import (
    END,
    HEAD,
    KIND,
    PURPOSE,
    get,
    send_form,
    uploaded,
)
from tests.support.memory import forget_peak, peak_bytes

MB = 1_000_000
SIZE = 20 * MB
MULTIPART = b"multipart/form-data; boundary="
FILE = PURPOSE + HEAD
GOOD = FILE + b"some text" + END
# The longest boundary, a form with it, and its delimiter with another last byte.
LONGEST = b"b" * 70
LONG_KIND = MULTIPART + LONGEST
LONG_FILE = FILE.replace(b"--b\r\n", b"--" + LONGEST + b"\r\n")
ALMOST = b"\r\n--" + LONGEST[:-1] + b"~"
BATCH = PURPOSE.replace(b"user_data", b"batch").removesuffix(b"\r\n")
JSONL = HEAD.replace(b"a.txt", b"a.jsonl")
LINE, BOM = b'{"a": 1}\n', b"\xef\xbb\xbf"
NO_BOUNDARY = "multipart/form-data with a boundary of 1 to 70 characters"
NOT_HTTP = "The request is not valid HTTP"
NO_BEGINNING = "it does not begin with its boundary"
NO_END = "it ends within a part"
NO_HEADER = "a part has no header, or one that is too long"
BEHIND_END = "something follows its end"
NO_OBJECT = "is not a JSON object"


class Long(NamedTuple):
    """Twenty megabytes, made when a test needs them."""

    before: bytes
    filler: bytes
    behind: bytes = b""
    size_bytes: int = SIZE

    def write(self) -> bytes:
        middle = self.filler * (self.size_bytes // len(self.filler))
        return self.before + middle + self.behind


def name(value: object) -> str | None:
    """Return what stands for a body in the name of a test."""
    if not isinstance(value, Long):
        return None
    before, filler, behind = value.before[-6:], value.filler[:6], value.behind[:6]
    return f"{before!r} {filler!r} {behind!r}"


@pytest.fixture(autouse=True)
def _nothing_is_kept(site: Site, caller: Caller) -> Iterator[None]:
    """Whatever a test sends: afterwards the next calls are answered, and there is no more than the
    file that was there before, neither in the list nor on the disk."""
    kept = uploaded(caller)
    yield
    assert [file["id"] for file in get(caller).json["data"]] == [kept]
    assert site.office.do("stored_bytes", workspace_id=caller.workspace_id)[0] == 1
    on_disk = {path.name for path in (site.gateway.home / "files").glob("*/*")}
    assert on_disk == set(site.office.do("storage_names"))
    assert send_form(caller, GOOD).status == 200
    assert caller.ask("Hello").status == 200


@pytest.mark.parametrize(
    "kind",
    [
        b"multipart/form-data",
        MULTIPART,
        MULTIPART + b"x" * 71,
        MULTIPART + b"b" + b"-" * 70,
        MULTIPART + b"x" * 8_000,
        MULTIPART + b"b" + b"-" * 8_000,
        MULTIPART + b'"b' + b" " * 8_000 + b'"',
        MULTIPART + b"b%0D%0Ac",
        MULTIPART + b"b; boundary=c",
    ],
    ids=lambda kind: f"{len(kind)} bytes {kind[-8:].decode()}",
)
@pytest.mark.parametrize("epilogue_bytes", [0, SIZE])
def test_a_boundary_that_is_none_is_named(caller: Caller, kind: bytes, epilogue_bytes: int) -> None:
    answer = send_form(caller, GOOD + b"x" * epilogue_bytes, kind)

    assert answer.status == 400, answer.body
    assert NO_BOUNDARY in answer.error["message"]
    assert answer.error["param"] == "Content-Type"


@pytest.mark.parametrize("size_bytes", [9_000, 40_000, MB, SIZE])
@pytest.mark.parametrize("filler", [b"x", b"-"])
def test_a_boundary_that_no_header_can_hold(caller: Caller, size_bytes: int, filler: bytes) -> None:
    answer = send_form(caller, GOOD, MULTIPART + b"b" + filler * size_bytes)

    assert answer.status == 400, answer.body
    assert NO_BOUNDARY in answer.error["message"]
    assert answer.error["param"] == "Content-Type"


@pytest.mark.parametrize(
    ("size_bytes", "fault"),
    [
        (9_000, "A header exceeds 8192 bytes."),
        (40_000, "The headers exceed 32768 bytes in total."),
        (MB, "The headers exceed 32768 bytes in total."),
    ],
)
@pytest.mark.parametrize("kind", [b"application/json; x=", b"text/multipart/form-data;"])
def test_another_content_type_that_is_too_long(
    caller: Caller, kind: bytes, size_bytes: int, fault: str
) -> None:
    answer = send_form(caller, GOOD, kind + b"x" * size_bytes)

    assert (answer.status, answer.error["code"]) == (431, "headers_too_large")
    assert answer.error["message"] == fault


@pytest.mark.parametrize(
    "boundary",
    [b"b\r\nc", b'"b\r\nc"', b"b\r\n c", b"b\nc", b"b\rc", b"b\0c", b"b\r" + b"-" * 8_000],
    ids=lambda boundary: repr(boundary[:8]),
)
def test_a_boundary_with_the_end_of_a_line_is_no_http(caller: Caller, boundary: bytes) -> None:
    answer = send_form(caller, GOOD, MULTIPART + boundary)

    assert answer.status == 400, answer.body
    assert NOT_HTTP in answer.error["message"]


@pytest.mark.parametrize(
    ("kind", "body", "fault"),
    [
        # What is behind a delimiter (CVE-2024-8984).
        (KIND, Long(b"--b", b"-"), BEHIND_END),
        (KIND, Long(FILE + b"some text\r\n--b", b"-"), BEHIND_END),
        (KIND, Long(GOOD.removesuffix(b"\r\n"), b"-"), BEHIND_END),
        (KIND, Long(b"--b", b" ", GOOD), NO_HEADER),
        (KIND, Long(FILE + b"some text\r\n--b", b" ", GOOD), NO_HEADER),
        (KIND, Long(b"", b"--b\r\n"), NO_HEADER),
        # The boundary never appears, or never again.
        (KIND, Long(b"", b"x"), NO_BEGINNING),
        (LONG_KIND, Long(b"", ALMOST), NO_BEGINNING),
        (KIND, Long(FILE, b"x"), NO_END),
        (KIND, Long(FILE, b"x\n"), NO_END),
        (KIND, Long(FILE, b"\r\n-"), NO_END),
        (LONG_KIND, Long(LONG_FILE, ALMOST), NO_END),
        (KIND, Long(b"--b\r\n", b"x"), NO_HEADER),
        (KIND, Long(PURPOSE.removesuffix(b"\r\n"), b"x"), "purpose is too long"),
        # Before and behind a form.
        (KIND, Long(b"", b"x", b"\r\n" + GOOD), NO_BEGINNING),
        (KIND, Long(b"", b"\r\n", GOOD), NO_BEGINNING),
        (KIND, Long(b"", b"-", b"\r\n" + GOOD), NO_BEGINNING),
        (KIND, Long(GOOD, b"x"), BEHIND_END),
        (KIND, Long(GOOD, b"\r\n"), BEHIND_END),
        (KIND, Long(GOOD, b"-"), BEHIND_END),
        (KIND, Long(GOOD, GOOD), BEHIND_END),
    ],
    ids=name,
)
def test_twenty_megabytes_that_are_no_form(
    caller: Caller, kind: bytes, body: Long, fault: str
) -> None:
    answer = send_form(caller, body.write(), kind)

    assert answer.status == 400, answer.body
    assert fault in answer.error["message"]


@pytest.mark.parametrize(
    ("kind", "body", "fault"),
    [
        (MULTIPART, Long(GOOD, b"x"), NO_BOUNDARY),
        (KIND, Long(b"", b"x", b"\r\n" + GOOD), NO_BEGINNING),
        (KIND, Long(b"--b", b"-"), BEHIND_END),
        (KIND, Long(GOOD, b"x"), BEHIND_END),
        (KIND, Long(BATCH + b"\r\n" + JSONL + BOM, LINE), "line 1 begins with a byte order mark"),
        (KIND, Long(BATCH + b"\r\n" + JSONL, LINE), "line 50001 is one too many"),
    ],
    ids=name,
)
def test_what_is_wrong_at_the_beginning_is_refused_before_the_rest_arrives(
    caller: Caller, kind: bytes, body: Long, fault: str
) -> None:
    answer = send_form(caller, body.write(), kind, most_bytes=MB)

    assert answer.status == 400, answer.body
    assert fault in answer.error["message"]


@pytest.mark.parametrize(
    ("lines", "fault"),
    [
        (Long(b"", LINE), "line 50001 is one too many: a batch has at most 50000 lines"),
        (Long(BOM, LINE), "line 1 begins with a byte order mark"),
        (Long(LINE * 9 + BOM, LINE), "line 10 begins with a byte order mark"),
        (Long(b"no\n", LINE), f"line 1 {NO_OBJECT}"),
        (Long(b"", LINE, b"no", 49_999 * len(LINE)), f"line 50000 {NO_OBJECT}"),
        (Long(b"", LINE, b"no\n" + LINE * MB, 49_999 * len(LINE)), f"line 50000 {NO_OBJECT}"),
        (Long(b"", b"\n"), f"line 1 {NO_OBJECT}"),
        (Long(b"", b"{}"), "line 1 is longer than 8 MB"),
        (Long(LINE * 7, b"[", b"\n", 7 * MB), f"line 8 {NO_OBJECT}"),
        (Long(LINE * 7 + b'{"a": "\xff"}\n', LINE), "line 8 is not UTF-8"),
    ],
    ids=name,
)
@pytest.mark.parametrize("is_known", [True, False], ids=["purpose first", "purpose last"])
def test_more_than_a_million_lines_name_the_one_at_fault(
    caller: Caller, lines: Long, fault: str, is_known: bool
) -> None:
    file = JSONL + lines.write()
    first, last = (BATCH, file) if is_known else (file, BATCH)
    answer = send_form(caller, first + b"\r\n" + last + END)

    assert (answer.status, answer.error["code"]) == (400, "invalid_request"), answer.body
    assert answer.error["message"] == f"The file is not valid JSONL: {fault}."
    assert answer.error["param"] == "file"


@pytest.mark.parametrize(
    ("body", "most_bytes"),
    [
        (Long(FILE, b"x"), 8 * MB),
        (Long(FILE, b"x\n"), 8 * MB),
        (Long(GOOD, b"-"), 8 * MB),
        (Long(JSONL, b"\n", b"\r\n" + BATCH + END), 8 * MB),
        (Long(JSONL + b'{"a": "', b"x", b"\r\n" + BATCH + END), SIZE),
    ],
    ids=name,
)
def test_twenty_megabytes_take_little_memory(
    site: Site, caller: Caller, body: Long, most_bytes: int
) -> None:
    """However many lines there are. A line of JSONL may have 8 MB."""
    pid = site.gateway.process.pid
    send_form(caller, body.write())  # what any upload takes is there

    before = forget_peak(pid)
    answer = send_form(caller, body.write())

    assert answer.status == 400, answer.body
    assert peak_bytes(pid) - before < most_bytes
