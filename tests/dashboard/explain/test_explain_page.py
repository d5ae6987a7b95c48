"""The form of the page that explains a call: whom it is for, and what it says of each field.

What it answers is in tests/flows/test_explain_page.py: that takes a server.
"""

from __future__ import annotations

from typing import Any

import pytest

from accounts.models import Role, Workspace
from dashboard.explain.forms import NO_COUNTRY
from keys.models import ApiKey
from keys.services import revoke_key
from tests.dashboard.visitors import HTMX, path_of, signed_in
from tests.factories import ACTOR, make_key, make_member, make_workspace

pytestmark = pytest.mark.django_db


@pytest.fixture
def workspace() -> Workspace:
    return make_workspace()


@pytest.fixture
def key(workspace: Workspace) -> ApiKey:
    return make_key(workspace, label="Shop").key


def question(asked_about: ApiKey, **fields: str) -> dict[str, str]:
    return {"key": str(asked_about.pk), "model": "m", "endpoint": "chat_completions"} | fields


def offered(page: Any) -> list[str]:
    return [label for value, label in page.context["form"]["key"].field.choices if value]


@pytest.mark.parametrize("role", Role.values)
def test_each_role_is_offered_the_keys_it_may_ask_about(workspace: Workspace, role: str) -> None:
    person = make_member(workspace, role)
    make_key(workspace, label="Theirs")
    own = make_key(workspace, label="Own").key
    ApiKey.objects.filter(pk=own.pk).update(created_by=person)
    make_key(make_workspace("Elsewhere"), label="Foreign")

    page = signed_in(person).get(path_of("explain"))

    expected = {
        Role.OWNER: ["Own", "Theirs"],
        Role.ADMIN: ["Own", "Theirs"],
        Role.DEVELOPER: ["Own"],
    }.get(Role(role))
    assert page.status_code == (403 if expected is None else 200)
    if expected is not None:
        assert [label.partition(" (")[0] for label in offered(page)] == expected


def test_keys_of_others_are_not_a_choice(workspace: Workspace, key: ApiKey) -> None:
    developer = signed_in(make_member(workspace, Role.DEVELOPER))
    stranger = signed_in(make_member(make_workspace("Elsewhere"), Role.OWNER))

    for visitor in (developer, stranger):
        sent = visitor.post(path_of("explain"), question(key))
        opened = visitor.get(path_of("explain"), question(key))
        assert (sent.status_code, opened.status_code) == (422, 422)
        assert list(sent.context["form"].errors) == ["key"]
        assert "Shop" not in sent.content.decode() + opened.content.decode()


def test_the_address_fills_in_the_form_and_asks_only_when_it_says_of_which_call(
    workspace: Workspace, key: ApiKey
) -> None:
    revoke_key(key, actor=ACTOR)
    visitor = signed_in(make_member(workspace, Role.OWNER))

    filled = visitor.get(path_of("explain"), {"key": str(key.pk), "address": "203.0.113.7"})
    asked = visitor.get(path_of("explain"), question(key))
    nonsense = visitor.get(path_of("explain"), {"key": "\0", "model": "x" * 999})

    assert (filled.status_code, asked.status_code, nonsense.status_code) == (200, 422, 200)
    assert f'value="{key.pk}" selected' in filled.content.decode()
    assert 'value="203.0.113.7"' in filled.content.decode()
    assert not filled.context["form"].is_bound


def test_without_a_serving_process_the_page_says_so(workspace: Workspace, key: ApiKey) -> None:
    visitor = signed_in(make_member(workspace, Role.OWNER))

    answer = visitor.post(path_of("explain"), question(key))

    assert answer.status_code == 422
    assert "No server process is running" in answer.content.decode()


@pytest.mark.parametrize(
    ("field", "words", "fields"),
    [
        ("key", "Choose a key", {"key": ""}),
        ("key", "Select a valid choice", {"key": "nope"}),
        ("model", "Enter a model, or a body that names one", {"model": ""}),
        ("model", "at most 256", {"model": "x" * 257}),
        ("model", "Null characters", {"model": "a\0b"}),
        ("endpoint", "Select a valid choice", {"endpoint": "chat"}),
        ("endpoint", "This field is required", {"endpoint": ""}),
        ("address", "Enter an IPv4 or IPv6 address", {"address": "10.0.0"}),
        ("country", "two-letter country code", {"country": "Germany"}),
        (
            "user_agent",
            "printable ASCII",
            {"user_agent": "M\N{LATIN SMALL LETTER O WITH DIAERESIS}"},
        ),
        ("user_agent", "at most 1024", {"user_agent": "x" * 1025}),
        ("body", "This is not valid JSON", {"body": "{"}),
        ("body", "This is not valid JSON", {"body": "{'a': 1}"}),
        ("body", "Enter a JSON object", {"body": "[]"}),
        ("body", "at most 100000", {"body": '{"a": "' + "x" * 100_000 + '"}'}),
    ],
)
def test_the_form_says_of_each_field_what_is_wrong(
    workspace: Workspace, key: ApiKey, field: str, words: str, fields: dict[str, str]
) -> None:
    visitor = signed_in(make_member(workspace))

    answer = visitor.post(path_of("explain"), question(key, **fields), headers=HTMX)

    assert answer.status_code == 422
    errors = answer.context["form"].errors
    assert list(errors) == [field]
    assert words in errors[field][0]
    assert words.partition("'")[0] in answer.content.decode()


def test_the_country_field_says_where_it_has_no_effect(workspace: Workspace, key: ApiKey) -> None:
    page = signed_in(make_member(workspace)).get(path_of("explain"))

    assert NO_COUNTRY in page.content.decode()


def test_a_key_beyond_those_offered_can_be_asked_about(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dashboard.explain.forms.OFFERED", 1)
    oldest = make_key(workspace, label="Oldest").key
    make_key(workspace, label="Newest")
    visitor = signed_in(make_member(workspace))

    plain = visitor.get(path_of("explain"))
    chosen = visitor.get(path_of("explain"), {"key": str(oldest.pk)})

    assert [label.partition(" (")[0] for label in offered(plain)] == ["Newest"]
    assert [label.partition(" (")[0] for label in offered(chosen)] == ["Newest", "Oldest"]


def test_the_page_of_a_key_leads_here_for_who_may_ask(workspace: Workspace, key: ApiKey) -> None:
    link = f"/w/{workspace.slug}/explain?key={key.pk}"
    owner = signed_in(make_member(workspace, Role.OWNER))
    developer = signed_in(make_member(workspace, Role.DEVELOPER))

    assert link in owner.get(path_of("key-edit", key.pk)).content.decode()
    assert link not in developer.get(path_of("key-edit", key.pk)).content.decode()
