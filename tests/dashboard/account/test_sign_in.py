"""Signing in and out: passwords, second steps, what is limited and what is closed."""

from __future__ import annotations

import time
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal import auth as totp
from django.core.cache import cache
from django.core.management import call_command
from django.test import Client

from accounts.models import AuditEvent, User
from tests.factories import PASSWORD, make_user, make_workspace

pytestmark = pytest.mark.django_db

SIGN_IN = "/sign-in"


@pytest.fixture(autouse=True)
def no_tries_yet() -> None:
    """Codes are counted in memory, which outlives a test."""
    cache.clear()


@pytest.fixture(autouse=True)
def codes_outlive_their_half_minute(settings: Any) -> None:
    """One may turn into the next between being read here and being looked at there."""
    settings.MFA_TOTP_TOLERANCE = 1


@pytest.fixture
def person() -> User:
    make_workspace()
    return make_user("ada@example.com", is_operator=True)


def sign_in(client: Client, password: str = PASSWORD, **fields: Any) -> Any:
    form = {"login": "ada@example.com", "password": password} | fields
    return client.post(SIGN_IN, form)


def app_code(secret: str) -> str:
    """Return what an authenticator app shows now."""
    counter = int(time.time()) // 30
    code: str = totp.format_hotp_value(totp.hotp_value(secret, counter))
    return code


def activate_app(client: Client) -> str:
    """Set up an authenticator app for the person signed in; return its secret."""
    page = client.get("/account/app")
    if page.status_code == 302:
        client.post(page["Location"], {"password": PASSWORD})
        page = client.get("/account/app")
    secret: str = page.context["form"].secret
    client.post("/account/app", {"code": app_code(secret)})
    return secret


def test_the_right_password_opens_the_overview(person: User) -> None:
    client = Client()

    answer = sign_in(client)

    assert (answer.status_code, answer["Location"]) == (302, "/")
    assert client.get("/account").status_code == 200


def test_the_address_may_be_typed_in_capitals(person: User) -> None:
    assert sign_in(Client(), login="ADA@Example.com").status_code == 302


def test_wrong_password_and_unknown_address_are_told_the_same(person: User) -> None:
    wrong = sign_in(Client(), "not the password at all")
    unknown = sign_in(Client(), login="nobody@example.com")

    assert wrong.context["form"].errors == unknown.context["form"].errors
    assert wrong.context["form"].errors


def test_somebody_who_was_switched_off_stays_outside(person: User) -> None:
    User.objects.update(is_active=False)
    client = Client()

    sign_in(client)

    assert client.get("/").status_code == 302


def test_guessing_is_stopped_and_then_even_the_right_password_waits(person: User) -> None:
    client = Client()

    for number in range(6):
        sign_in(client, f"guess number {number}")
    answer = sign_in(client)

    assert answer.status_code in (200, 429)
    assert client.get("/").status_code == 302


@pytest.mark.parametrize(
    "target",
    [
        "//evil.example",
        "https:evil.example",
        "\\\\evil.example",
        "javascript:alert(1)",
        "https://e",
    ],
)
def test_signing_in_leads_nowhere_but_home(person: User, target: str) -> None:
    answer = Client().post(
        SIGN_IN, {"login": "ada@example.com", "password": PASSWORD, "next": target}
    )

    assert answer["Location"] == "/"


def test_signing_in_leads_back_to_the_page_that_was_asked_for(person: User) -> None:
    assert sign_in(Client(), next="/w/a/keys?state=all")["Location"] == "/w/a/keys?state=all"


def test_the_session_is_another_one_after_signing_in(person: User) -> None:
    client = Client()
    client.session.save()
    before = client.session.session_key

    sign_in(client)

    assert client.session.session_key != before


def test_the_session_cookie_is_out_of_reach_of_scripts(person: User) -> None:
    client = Client()

    cookie = sign_in(client).cookies["tollhouse_session"]

    assert cookie["httponly"] is True
    assert cookie["samesite"] == "Lax"


def test_signing_out_needs_a_post_and_ends_the_session_for_good(person: User) -> None:
    client = Client()
    sign_in(client)
    stolen = client.cookies["tollhouse_session"].value

    looked = client.get("/sign-out").status_code
    still_in = client.get("/account").status_code
    client.post("/sign-out")
    client.cookies["tollhouse_session"] = stolen

    assert (looked, still_in) == (200, 200)
    assert client.get("/account").status_code == 302


def test_a_forged_sign_in_is_refused(person: User) -> None:
    client = Client(enforce_csrf_checks=True)

    answer = sign_in(client)

    assert answer.status_code == 403
    assert b"This form has expired" in answer.content


@pytest.mark.parametrize(
    "path", ["/sign-up", "/signup", "/signup/", "/account/email", "/password/reset/", "/admin/"]
)
def test_nobody_signs_up_or_resets_by_mail(path: str) -> None:
    assert Client().get(path).status_code == 404


def test_a_changed_password_ends_the_other_sessions(person: User) -> None:
    here, there = Client(), Client()
    sign_in(here)
    sign_in(there)
    new = "another passphrase entirely"

    form = {"oldpassword": PASSWORD, "password1": new, "password2": new}
    answer = here.post("/account/password", form)

    assert answer.status_code == 302
    assert here.get("/account").status_code == 200
    assert there.get("/").status_code == 302


def test_with_an_app_the_password_alone_is_not_enough(person: User) -> None:
    setting_up = Client()
    sign_in(setting_up)
    activate_app(setting_up)
    client = Client()

    first = sign_in(client)
    halfway = client.get("/").status_code
    wrong = client.post("/sign-in/code", {"code": "000000"})
    right = client.post("/sign-in/code", {"code": unused_codes()[0]})

    assert first["Location"] == "/sign-in/code"
    assert halfway == 302
    assert wrong.status_code == 200
    assert right.status_code == 302
    assert client.get("/account").status_code == 200


def unused_codes() -> list[str]:
    codes: list[str] = Authenticator.objects.get(type="recovery_codes").wrap().get_unused_codes()
    return codes


def test_recovery_codes_are_shown_when_they_are_made_and_not_again(person: User) -> None:
    client = Client()
    sign_in(client)
    activate_app(client)

    made = client.post("/account/codes/new", follow=True)
    signed_in_with, kept = unused_codes()[:2]
    later = Client()
    sign_in(later)
    later.post("/sign-in/code", {"code": signed_in_with})
    asked = later.get("/account/codes")
    later.post(asked["Location"], {"password": PASSWORD})
    page = later.get("/account/codes")

    assert kept in made.content.decode()
    assert page.status_code == 200
    assert kept not in page.content.decode()


def test_an_operator_resets_a_password_and_every_session_ends(person: User) -> None:
    client = Client()
    sign_in(client)
    activate_app(client)

    call_command("reset_password", "ADA@example.com", "--forget-factors", "--json")

    assert client.get("/").status_code == 302
    assert sign_in(Client()).status_code == 200
    assert not Authenticator.objects.exists()
    assert AuditEvent.objects.filter(action="user.set_password").exists()


def test_the_new_password_works(person: User, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("reset_password", "ada@example.com")
    password = capsys.readouterr().out.strip().split(" is ")[1]

    assert sign_in(Client(), password)["Location"] == "/"


def test_people_give_themselves_a_name_and_take_it_back(person: User) -> None:
    client = Client()
    client.force_login(person)

    named = client.post("/account/name", {"name": "  Ada Lovelace "}, follow=True)
    client.post("/account/name", {"name": "Ada Lovelace"})
    unseen = client.post("/account/name", {"name": "Ada\u202eecalevoL"})
    renamed = User.objects.get().name
    client.post("/account/name", {"name": ""})

    assert "Ada Lovelace" in named.content.decode()
    assert unseen.status_code == 422
    assert renamed == "Ada Lovelace"
    assert User.objects.get().name == ""
    assert AuditEvent.objects.filter(action="user.rename").count() == 2
