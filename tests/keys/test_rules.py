"""Labels, scopes, models and expiry of a key."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.core.exceptions import ValidationError
from django.utils import timezone

from keys.rules import MAX_MODELS, read_expiry, read_model_names, read_scopes


def test_scopes_are_kept_once_each_in_one_order() -> None:
    assert read_scopes(["usage", "completions", "usage"]) == ["completions", "usage"]


@pytest.mark.parametrize(
    "scopes", [[], ["root"], ["Completions"], ["completions "], [None], "completions", [["usage"]]]
)
def test_scopes_that_do_not_exist_are_refused(scopes: list[str]) -> None:
    with pytest.raises(ValidationError) as refusal:
        read_scopes(scopes)

    assert set(refusal.value.message_dict) == {"scopes"}


def test_model_names_are_trimmed_and_kept_once_in_their_order() -> None:
    assert read_model_names([" b ", "a", "b"]) == ["b", "a"]
    assert read_model_names(["m" * 200]) == ["m" * 200]
    assert read_model_names([]) == []


@pytest.mark.parametrize(
    "names",
    [
        [""],
        ["  "],
        ["m" * 201],
        ["a\nb"],
        ["a\x00"],
        ["gpt-4o gpt-5"],
        ["gpt-4o, gpt-5"],
        ["gpt-4o,gpt-5"],
        [None],
        [7],
        "gpt-4o",
        ["m"] * (MAX_MODELS + 1),
    ],
)
def test_model_names_that_no_model_can_have_are_refused(names: list[str]) -> None:
    with pytest.raises(ValidationError) as refusal:
        read_model_names(names)

    assert set(refusal.value.message_dict) == {"allowed_models"}


def test_an_expiry_lies_ahead() -> None:
    tomorrow = timezone.now() + timedelta(days=1)

    assert read_expiry(tomorrow) == tomorrow
    assert read_expiry(None) is None


@pytest.mark.parametrize(
    "moment", [datetime(2020, 1, 1, tzinfo=UTC), datetime(2999, 1, 1)], ids=["past", "naive"]
)
def test_an_expiry_that_has_passed_or_has_no_zone_is_refused(moment: datetime) -> None:
    with pytest.raises(ValidationError) as refusal:
        read_expiry(moment)

    assert set(refusal.value.message_dict) == {"expires_at"}
