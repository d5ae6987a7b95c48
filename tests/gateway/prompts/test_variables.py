"""Names in braces are filled in once, and nothing else is touched."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.prompts.variables import (
    DAILY,
    HOURLY,
    KNOWN,
    MAX_PLACEHOLDERS,
    VOLATILE,
    Filling,
    TooManyPlaceholders,
    names_in,
    values_at,
)

MOMENT = datetime(2026, 8, 9, 7, 5, 3, tzinfo=UTC)
VALUES = values_at(
    MOMENT, org_name="Acme", model_id="m/1", request_id="0197-x", language="{{ org_name }}"
)
# Texts in which braces are everywhere, and names that mean something.
PIECES = st.sampled_from(
    ["{{", "}}", "{", "}", " ", "\n", "org_name", "language", "unknown", "{{ org_name }}", "a.b"]
)
TEXTS = st.lists(PIECES | st.text(max_size=5), max_size=30).map("".join)


def fill(text: str) -> str:
    return Filling(VALUES).fill(text)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("now_date", "2026-08-09"),
        ("now_day_of_week", "Sunday"),
        ("now_year", "2026"),
        ("now_month", "8"),
        ("now_month_name", "August"),
        ("now_day", "9"),
        ("now_quarter", "3"),
        ("now_week", "32"),
        ("now_hour", "7"),
        ("now_time", "07:05:03"),
        ("now_datetime", "2026-08-09 07:05:03"),
        ("now_iso", "2026-08-09T07:05:03+00:00"),
        ("now_unix", "1786259103"),
        ("org_name", "Acme"),
        ("model_id", "m/1"),
        ("request_id", "0197-x"),
        ("language", "{{ org_name }}"),
    ],
)
def test_every_variable_has_its_value(name: str, said: str) -> None:
    assert fill(f"<{{{{ {name} }}}}>") == f"<{said}>"
    assert name in KNOWN


def test_every_known_name_is_in_one_tier_and_has_a_value() -> None:
    names = [*DAILY, *HOURLY, *VOLATILE]

    assert len(names) == len(KNOWN)
    assert set(VALUES) == KNOWN


def test_days_begin_where_the_zone_says() -> None:
    late = datetime(2026, 1, 1, 1, 0, tzinfo=timezone(timedelta(hours=3)))

    values = values_at(late.astimezone(UTC), org_name="", model_id="", request_id="", language=None)

    assert (values["now_date"], values["now_hour"]) == ("2025-12-31", 22)


@pytest.mark.parametrize(
    "text",
    [
        *("{{ nobody }}", "{{org_nam}}", "{{ haystack.a.b }}", "{{ org_name.x }}", "{{ }}"),
        *("{ org_name }", "{{ org name }}", "{{ 7*7 }}", "{{\norg_name\n}}", "{{ ORG_NAME }}"),
        *("{{ org_name", "org_name }}", "{% if x %}", "{{ org_name|upper }}", "{{ _ }}", ""),
    ],
)
def test_what_is_no_variable_stays_as_it_was_typed(text: str) -> None:
    assert fill(text) == text


def test_spaces_are_optional_and_nothing_is_escaped() -> None:
    values = VALUES | {"org_name": "<A & B>\\1"}

    filled = Filling(values).fill("{{org_name}}|{{ org_name }}|{{\torg_name  }}|{{{org_name}}}")

    assert filled == "<A & B>\\1|<A & B>\\1|<A & B>\\1|{<A & B>\\1}"


@given(TEXTS)
def test_what_comes_in_by_a_name_is_never_looked_at_again(text: str) -> None:
    """Cut at what looks like a placeholder, a text is filled in piece by piece."""
    pieces = re.split(r"(\{\{[ \t]*[A-Za-z_][\w.]*[ \t]*\}\})", text, flags=re.ASCII)

    for place in range(1, len(pieces), 2):
        pieces[place] = VALUES_OF.get(pieces[place].strip("{} \t"), pieces[place])

    assert fill(text) == "".join(pieces)


VALUES_OF = {name: str(value) for name, value in VALUES.items()}


@given(TEXTS)
def test_a_text_without_known_names_is_left_alone(text: str) -> None:
    values = {name: value for name, value in VALUES.items() if name not in names_in(text)}

    assert Filling(values).fill(text) == text


def test_there_is_an_end_to_what_one_call_may_ask_for() -> None:
    filling = Filling(VALUES)
    half = "{{ now_day }}{{ nobody }}" * (MAX_PLACEHOLDERS // 4)

    filling.fill(half)
    filling.fill(half)

    with pytest.raises(TooManyPlaceholders):
        filling.fill("{{ now_day }}")
