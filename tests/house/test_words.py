"""Words that do not belong in the repository: promises of later work, addresses of machines."""

from __future__ import annotations

import re

import pytest

from tests.house.tree import text_of, tracked

# Written in halves, so that this file is not found by itself.
LATER = re.compile("|".join(("TO" + "DO", "FIX" + "ME", "X" + "XX", "NotImplemented" + "Error")))
PLACES = re.compile(
    "|".join((r"(?<![\w.])/" + "work/", r"(?<![\w.])/" + "root/", r"(?<![\w.])/" + r"home/\w+/"))
)
INDEXES = re.compile(
    "|".join(("pypi" + r"\.org", "python" + "hosted", "registry" + r"\.npmjs", "deb" + r"\.debian"))
)
BINARY = (".png", ".ico", ".woff2", ".jpg", ".gif", ".gz")
TEXTS = [path for path in tracked() if not path.endswith(BINARY)]


def found(pattern: re.Pattern[str]) -> list[str]:
    return [
        f"{path}:{number}: {line.strip()[:100]}"
        for path in TEXTS
        for number, line in enumerate(text_of(path).splitlines(), 1)
        if pattern.search(line)
    ]


@pytest.mark.parametrize("pattern", [LATER, PLACES, INDEXES], ids=["later", "places", "indexes"])
def test_no_file_says_it(pattern: re.Pattern[str]) -> None:
    assert found(pattern) == []


def test_every_requirement_is_locked_with_hashes_and_without_an_address() -> None:
    for lock in tracked(".lock"):
        blocks = re.split(r"\n(?=\S)", text_of(lock).strip())
        pinned = [block for block in blocks if re.match(r"[\w.-]+==", block)]

        assert len(pinned) == len(blocks)
        assert all("--hash=sha256:" in block for block in pinned)
        assert "://" not in text_of(lock)


def test_locks_agree_on_what_they_share() -> None:
    def versions(lock: str) -> set[tuple[str, str]]:
        return set(re.findall(r"^([\w.-]+)==(\S+)", text_of(lock), re.MULTILINE))

    for extra in ("deploy/otel.lock", "deploy/aws.lock"):
        assert versions("requirements.lock") <= versions(extra)
        assert versions(extra) <= versions("tests/requirements.lock")
