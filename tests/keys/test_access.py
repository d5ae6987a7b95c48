"""Access rules as people write them, and what `*` stands for."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from hypothesis import given
from hypothesis import strategies as st

from accounts.models import AuditEvent
from gateway.core.name_patterns import compile_names, covers
from keys.access import access_rules_of, set_access_rules
from keys.countries import CODES
from keys.models import AccessRules
from tests.factories import make_workspace

texts = st.text("ab*", max_size=6)


@given(st.lists(texts, max_size=3), st.text("ab", max_size=8))
def test_a_pattern_matches_as_its_regular_expression_does(names: list[str], text: str) -> None:
    meant = [".*".join(map(re.escape, name.split("*"))) for name in names]

    assert compile_names(tuple(names)).match(text) == any(
        re.fullmatch(one, text) is not None for one in meant
    )


@given(texts, texts, st.text("ab", max_size=8))
def test_a_pattern_covers_another_only_when_it_matches_all_of_it(
    outer: str, inner: str, text: str
) -> None:
    if covers(outer, inner) and compile_names((inner,)).match(text):
        assert compile_names((outer,)).match(text)


def test_a_long_pattern_takes_no_time_to_fail() -> None:
    assert not compile_names(("a*" * 90 + "b",)).match("a" * 50_000)


@pytest.mark.django_db
def test_rules_are_stored_in_one_form_and_audited(settings: Any) -> None:
    settings.COUNTRY_HEADER = "CF-IPCountry"
    workspace = make_workspace()
    AuditEvent.objects.all().delete()
    rules: dict[str, Any] = {
        "denied_models": [" openai/* ", "openai/*"],
        "denied_ips": ["::ffff:203.0.113.7"],
        "denied_user_agents": ["curl/*", "curl/*"],
        "denied_countries": ["fr", "DE"],
    }

    changed = [set_access_rules(workspace, actor="x", **rules) for _ in range(2)]

    stored = access_rules_of(workspace)
    [event] = AuditEvent.objects.all()
    assert changed == [True, False]
    assert stored.denied_models == ["openai/*"]
    assert stored.denied_ips == ["203.0.113.7/32"]
    assert stored.denied_countries == ["DE", "FR"]
    assert event.details["denied_user_agents"] == [[], ["curl/*"]]


@pytest.mark.django_db
def test_every_wrong_rule_is_named_at_once(settings: Any) -> None:
    settings.COUNTRY_HEADER = "CF-IPCountry"
    workspace = make_workspace()
    wrong: dict[str, Any] = {
        "denied_models": ["**"],
        "allowed_ips": ["0.0.0.0/0"],
        "denied_ips": ["0.0.0.0/0", "::/0"],
        "denied_user_agents": ["*", "ü", "x" * 201],
        "allowed_countries": ["UK"],
        "allowed_hosts": ["*"],
        "denied_hosts": ["https://example.com/"],
    }

    with pytest.raises(ValidationError) as refusal:
        set_access_rules(workspace, actor="x", **wrong)

    assert set(refusal.value.message_dict) == set(wrong)
    assert len(refusal.value.message_dict["denied_user_agents"]) == 3
    assert not AccessRules.objects.exists()


@pytest.mark.django_db
def test_countries_need_a_header_that_says_them(settings: Any) -> None:
    settings.COUNTRY_HEADER = ""

    with pytest.raises(ValidationError, match="TOLLHOUSE_COUNTRY_HEADER"):
        set_access_rules(make_workspace(), actor="x", allowed_countries=["DE"])

    assert set_access_rules(make_workspace(), actor="x", denied_models=["m"])


def test_the_codes_are_those_of_iso_3166() -> None:
    assert len(CODES) == 249 + len({"XK", "XX", "T1"})
