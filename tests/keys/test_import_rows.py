"""A CSV file of keys: how people write it, and what is said of each line that cannot be taken."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from keys.import_rows import MAX_ROWS, ImportRow, Problem, read_rows
from keys.secret import digest_secret

ONE = "sk-proj-9fJ2kQ7vTz1xWm4bRc8nLd5y"
TWO = "rpk_b81c04d7e95f2a6c3d80e1f7a4b92c65"


def read(text: str) -> list[ImportRow]:
    rows, problems = read_rows(text.encode())
    assert problems == []
    return rows


def problems_of(content: str | bytes) -> list[Problem]:
    _, problems = read_rows(content if isinstance(content, bytes) else content.encode())
    return problems


def test_every_column_is_read() -> None:
    [row] = read(
        "Secret,Name,member,Profile,models,ips,scopes,expires_at,requests_per_minute,burst,"
        "concurrent,daily_usd,weekly_usd,monthly_usd,total_usd\n"
        f"{ONE},Checkout,Ada@Example.com,Bud,gpt; haiku,203.0.113.0/24;2001:db8::7,usage,"
        "2030-01-31,60,120,4,2.50,5,10,100\n"
    )

    assert row.kept.digest == digest_secret(ONE)
    assert (row.kept.prefix, row.kept.hint, row.by_digest) == ("sk-proj-", "Ld5y", False)
    assert (row.member, row.profile) == ("ada@example.com", "bud")
    assert row.rules == {
        "label": "Checkout",
        "scopes": ["usage"],
        "allowed_models": ["gpt", "haiku"],
        "allowed_ips": ["203.0.113.0/24", "2001:db8::7/128"],
        "denied_models": [],
        "denied_ips": [],
        "expires_at": datetime(2030, 1, 31, tzinfo=UTC),
    }
    assert row.limits == {
        "max_requests_per_minute": 60,
        "burst": 120,
        "max_concurrent": 4,
        "daily_limit_nusd": 2_500_000_000,
        "weekly_limit_nusd": 5_000_000_000,
        "monthly_limit_nusd": 10_000_000_000,
        "total_limit_nusd": 100_000_000_000,
    }
    assert ImportRow.from_json(row.to_json()) == row


@pytest.mark.parametrize(
    "text",
    [
        f"secret\n{ONE}\n{TWO}\n",
        f"\ufeffsecret\r\n{ONE}\r\n{TWO}",
        f'"Api Key"\n"{ONE}"\n\n  \n {TWO} \n',
        f"name;secret\nOne;{ONE}\nTwo;{TWO}\n",
        f"secret\tname\n{ONE}\tOne\n{TWO}\tTwo\n",
        f"sha256,last4\n{digest_secret(ONE).upper()},Ld5y\nsha256:{digest_secret(TWO)},\n",
        f"secret,sha256\n{ONE},\n,{digest_secret(TWO)}\n",
    ],
    ids=["plain", "BOM", "quoted, blank lines", "semicolons", "tabs", "digests", "both"],
)
def test_a_file_is_taken_as_programs_write_it(text: str) -> None:
    digests = [row.kept.digest for row in read(text)]

    assert digests == [digest_secret(ONE), digest_secret(TWO)]


def test_a_key_without_a_name_has_one_that_says_which_it_is() -> None:
    rows = read(f"secret,sha256\n{ONE},\n,{digest_secret(TWO)}\n")

    names = [row.rules["label"] for row in rows]
    assert names == ["Imported Ld5y", f"Imported {digest_secret(TWO)[:8]}"]


@pytest.mark.parametrize(
    ("text", "line", "column", "words"),
    [
        ("", 1, "", "name the columns"),
        (f"{ONE}\n", 1, "", "name the columns"),
        ("secret\n", 1, "", "no keys"),
        (f"secret,expirs\n{ONE},\n", 1, "", "is 'expirs'"),
        (f"secret,secret\n{ONE},\n", 1, "", "occurs twice"),
        (f"secret,name\n{ONE}\n", 2, "", "has 1 columns"),
        (f"secret,name\n{ONE},a,b\n", 2, "", "has 3 columns"),
        ("secret\n\nsk-1234\n", 3, "secret", "could be guessed"),
        (f"secret,name\n{ONE},ok\n,missing\n", 3, "", "either secret or sha256"),
        (f"secret,sha256\n{ONE},{'ab' * 32}\n", 2, "", "either secret or sha256"),
        ("sha256\nabc\n", 2, "sha256", "64 hexadecimal"),
        (f"sha256\n{digest_secret('sk-1234')}\n", 2, "sha256", "easy to guess"),
        (f"secret\n{ONE}\n{TWO}\n{ONE}\n", 4, "", "Duplicate of the key in line 2"),
        (f"secret,name\n{ONE},{'a' * 81}\n", 2, "name", "visible"),
        (f"secret,name\n{ONE},key {ONE}\n", 2, "name", "must not contain"),
        (f'secret,name\n{ONE},"a\nb"\n', 2, "name", "visible"),
        (f"secret,profile\n{ONE},acme\n", 2, "profile", "unified"),
        (f"secret,scopes\n{ONE},root\n", 2, "scopes", "completions"),
        (f"secret,ips\n{ONE},203.0.113.7/24\n", 2, "ips", "203.0.113.0/24"),
        (f"secret,ips\n{ONE},0.0.0.0/0\n", 2, "ips", "leave empty for all"),
        (f"secret,expires_at\n{ONE},2001-01-01\n", 2, "expires_at", "future time"),
        (f"secret,expires_at\n{ONE},soon\n", 2, "expires_at", "future time"),
        (f"secret,burst\n{ONE},5\n", 2, "burst", "requests per minute"),
        (f"secret,concurrent\n{ONE},-1\n", 2, "concurrent", "whole number"),
        (f"secret,daily_usd\n{ONE},-1\n", 2, "daily_usd", "above 0"),
        (f"secret,daily_usd\n{ONE},ten\n", 2, "daily_usd", "such as 12.50"),
        (f'secret\n{ONE}\n"{TWO}', 3, "", "quotation marks"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(text: str, line: int, column: str, words: str) -> None:
    [problem] = problems_of(text)

    assert (problem.line, problem.column) == (line, column)
    assert words in problem.words


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (f"secret\n{ONE}\n".encode("utf-16"), 1),
        (b"secret\n" + ONE.encode() + b"\n\xff\xfe\n", 3),
        (b"PK\x03\x04\0\0\0", 1),
    ],
)
def test_what_is_no_text_is_refused(content: bytes, line: int) -> None:
    [problem] = problems_of(content)

    assert problem.line == line
    assert "UTF-8" in problem.words


@pytest.mark.parametrize("text", ['[{"token": "x"}]', '\n{"keys": []}'])
def test_json_is_named(text: str) -> None:
    [problem] = problems_of(text)

    assert problem.words == "The file is JSON. Save it as CSV, with the columns in the first line."


def test_a_file_has_so_many_keys_at_the_most() -> None:
    digests = "\n".join(f"{number:064x}" for number in range(1, MAX_ROWS + 2))

    [problem] = problems_of(f"sha256\n{digests}\n")

    assert problem.line == MAX_ROWS + 2
    assert "2,000" in problem.words


@pytest.mark.parametrize(
    "text",
    [
        f"{TWO}\n",
        f"secret,{TWO}\n{ONE},\n",
        f"secret,sha256,profile,ips,scopes,expires_at,burst,daily_usd\n{TWO * 2}{f',{TWO}' * 7}\n",
        f"secret,name\n{ONE},{TWO}{ONE}\n",
        f"sha256,last4,member,models\n{TWO},{TWO},{TWO},{TWO * 9}\n",
    ],
)
def test_columns_mixed_up_show_no_key(text: str) -> None:
    said = [str(problem) for problem in problems_of(text)]

    assert said
    assert not any(TWO in words or ONE in words for words in said)
