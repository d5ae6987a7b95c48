"""Second factors at rest: encrypted, still good after an upgrade and after a change of keys."""

from __future__ import annotations

import json
import time
from importlib import import_module
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal import auth as totp
from django.apps import apps
from django.core.cache import cache
from django.core.management import call_command
from django.db import connection
from django.test import Client

from accounts.models import AuditEvent
from gateway.services.factor_encryption import decrypt_text, rewritten
from tests.factories import PASSWORD, make_user, make_workspace

pytestmark = pytest.mark.django_db

NEW_KEY = "a new sealing key of forty characters ..."
migration = import_module("gateway.migrations.0017_sealed_second_factors")


@pytest.fixture(autouse=True)
def one_clock(settings: Any) -> None:
    """Tries are counted in the cache; a code may turn into the next while it is on its way."""
    cache.clear()
    settings.MFA_TOTP_TOLERANCE = 1


@pytest.fixture
def secret() -> str:
    """Set up an authenticator app for ada, with recovery codes, and return the app's secret."""
    make_workspace()
    make_user("ada@example.com", is_operator=True)
    client = Client()
    client.post("/sign-in", {"login": "ada@example.com", "password": PASSWORD})
    asked = client.get("/account/app")
    if asked.status_code == 302:
        client.post(asked["Location"], {"password": PASSWORD})
    found: str = client.get("/account/app").context["form"].secret
    client.post("/account/app", {"code": code_of(found)})
    client.post("/account/codes/new")
    return found


def code_of(secret: str) -> str:
    code: str = totp.format_hotp_value(totp.hotp_value(secret, int(time.time()) // 30))
    return code


def sign_in(code: str, *, forget: bool = True) -> int:
    """Sign in with password and code; return what the overview answers then.

    forget: which codes were used before.
    """
    if forget:
        cache.clear()
    client = Client()
    client.post("/sign-in", {"login": "ada@example.com", "password": PASSWORD})
    client.post("/sign-in/code", {"code": code})
    return client.get("/w/acme").status_code


def recovery_code() -> str:
    codes: list[str] = Authenticator.objects.get(type="recovery_codes").wrap().get_unused_codes()
    return codes[0]


def stored() -> str:
    """Return everything that the database holds of second factors, as text."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT data FROM mfa_authenticator")
        return " ".join(str(row[0]) for row in cursor.fetchall())


def in_the_clear() -> str:
    """Make the rows what they were before they were encrypted; return them as text."""
    for factor in Authenticator.objects.all():
        factor.data = rewritten(factor.data, decrypt_text)
        factor.save()
    return stored()


def test_neither_the_apps_secret_nor_the_codes_seed_is_stored_in_the_clear(secret: str) -> None:
    at_rest = stored()
    in_the_clear()
    seed = Authenticator.objects.get(type="recovery_codes").data["seed"]

    assert secret not in at_rest
    assert seed not in at_rest
    assert at_rest.count("sealed:") == 2


def test_app_and_codes_sign_in_as_before(secret: str) -> None:
    assert sign_in(code_of(secret)) == 200
    assert sign_in(recovery_code()) == 200
    assert sign_in("000000") == 302


def test_factors_from_before_are_encrypted_by_the_upgrade_and_still_good(secret: str) -> None:
    before = in_the_clear()

    migration.seal_factors(apps, None)
    once = stored()
    migration.seal_factors(apps, None)

    assert secret in before
    assert secret not in once
    assert "sealed:" in once
    assert sign_in(code_of(secret)) == 200
    migration.unseal_factors(apps, None)
    assert secret in stored()


def test_after_resealing_the_old_key_is_not_needed_any_more(
    secret: str, settings: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    old = settings.SEALING_KEYS
    settings.SEALING_KEYS = [NEW_KEY, *old]
    call_command("reseal_credentials", "--json")
    call_command("reseal_credentials", "--json")
    settings.SEALING_KEYS = [NEW_KEY]

    answers = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [answer["resealed_factors"] for answer in answers] == [2, 0]
    assert sign_in(code_of(secret)) == 200
    assert sign_in(recovery_code()) == 200
    event = AuditEvent.objects.get(action="user.reseal_factors")
    assert event.details == {"resealed": 2}


def test_without_its_key_a_factor_lets_nobody_in_and_says_why(secret: str, settings: Any) -> None:
    settings.SEALING_KEYS = [NEW_KEY]
    client = Client()
    client.post("/sign-in", {"login": "ada@example.com", "password": PASSWORD})

    answer = client.post("/sign-in/code", {"code": code_of(secret)})

    assert answer.status_code == 403
    assert "sealing keys have changed" in answer.content.decode()
    assert client.get("/").status_code == 302


def test_a_code_is_good_once(secret: str) -> None:
    cache.clear()  # the one that set the app up was used, too
    code, spare = code_of(secret), recovery_code()
    first = [sign_in(code, forget=False), sign_in(spare, forget=False)]

    again = [sign_in(code, forget=False), sign_in(spare, forget=False)]

    assert (first, again) == ([200, 200], [302, 302])


def test_a_password_alone_opens_no_page_of_the_account(secret: str) -> None:
    client = Client()
    client.post("/sign-in", {"login": "ada@example.com", "password": PASSWORD})

    for path in ("/", "/account", "/account/app", "/account/codes", "/keys"):
        assert client.get(path).status_code == 302
