"""The wire is as the golden files say. `python -m tests.golden.record` writes them anew."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.flows.caller import Caller
from tests.golden.cases import CASES, FOLDER, PROFILES, Case, file_of, perform


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.parametrize("profile", PROFILES)
def test_the_answer_is_the_recorded_one(
    callers: Mapping[str, Caller], profile: str, case: Case
) -> None:
    assert perform(callers, profile, case) == file_of(profile, case).read_text()


def test_there_are_no_other_files() -> None:
    expected = {file_of(profile, case) for profile in PROFILES for case in CASES}

    assert set(FOLDER.glob("*/*.txt")) == expected
