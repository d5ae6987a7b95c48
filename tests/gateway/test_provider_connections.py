"""How providers are reached: what can be saved, what comes of it, and what stays secret."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from pytest_django import Settings

from accounts.models import AuditEvent
from dashboard.providers.forms import initial_of_provider
from gateway.models import Provider
from gateway.outbound.proxies import read_environment
from gateway.services.credential_encryption import reencrypt_all
from gateway.services.provider_connections import (
    connection_settings,
    connection_warnings,
    set_connection,
    used_transport,
)
from gateway.services.snapshot import compile_snapshot
from tests.dashboard.visitors import signed_in
from tests.factories import ACTOR, make_model, make_provider, make_user, make_workspace
from tests.gateway.providers.transports.certificates import LIFE, Authority

pytestmark = pytest.mark.django_db

PROXY = "http://proxy.example:3128"
PASSWORD = "gateway:canary 5f1e0c77"


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


@pytest.fixture
def provider() -> Provider:
    return make_provider("up", kind="openai", credential="sk-1")


def change(provider: Provider, **fields: Any) -> bool:
    return set_connection(provider, actor=ACTOR, **fields)


def refused(provider: Provider, **fields: Any) -> dict[str, list[str]]:
    with pytest.raises(ValidationError) as refusal:
        change(provider, **fields)
    return dict(refusal.value.message_dict)


def test_a_provider_without_settings_has_direct_connections(provider: Provider) -> None:
    assert connection_settings(provider) is None
    assert used_transport(provider) == "direct"
    assert change(provider, transport="automatic", proxy_url="") is False


def test_everything_is_in_the_snapshot_and_the_secrets_are_encrypted(
    provider: Provider, authority: Authority
) -> None:
    certificate, key = authority.client_certificate("gateway")
    make_model("m", provider=provider)
    fields = {
        "uses_http2": True,
        "proxy_url": f"{PROXY}/",
        "proxy_credential": PASSWORD,
        "ca_certificate": authority.path.read_text(),
        "client_certificate": certificate,
        "client_key": key,
    }

    assert change(provider, **fields) is True

    [target] = compile_snapshot().models["m"].targets
    found = target.connection
    assert found is not None
    assert (found.http2, found.proxy_url, found.proxy_credential) == (True, PROXY, PASSWORD)
    assert (found.client_certificate, found.client_key.strip()) == (certificate, key.strip())
    row = Provider.objects.get()
    assert b"canary" not in bytes(row.proxy_credential or b"")
    assert b"PRIVATE" not in bytes(row.client_key or b"")
    assert used_transport(row) == "httpx"
    event = AuditEvent.objects.get(action="provider.set_connection")
    assert "canary" not in str(event.details)
    assert "BEGIN" not in str(event.details)
    assert "canary" not in repr(target)
    assert change(provider, **{**fields, "proxy_credential": "", "client_key": ""}) is False


def test_what_belongs_to_what_is_removed_goes_with_it(
    provider: Provider, authority: Authority
) -> None:
    certificate, key = authority.client_certificate("gateway")
    change(provider, proxy_url=PROXY, proxy_credential=PASSWORD)
    change(provider, client_certificate=certificate, client_key=key)

    change(provider, proxy_url="", client_certificate="")

    row = Provider.objects.get()
    assert (row.proxy_credential, row.client_key) == (None, None)
    assert connection_settings(row) is None


def test_another_proxy_asks_for_the_password_again(provider: Provider) -> None:
    change(provider, proxy_url=PROXY, proxy_credential=PASSWORD)

    assert "proxy_credential" in refused(provider, proxy_url="http://evil.example:3128")


@pytest.mark.parametrize(
    ("field", "fields"),
    [
        ("proxy_url", {"proxy_url": "socks5://proxy.example:1080"}),
        ("proxy_url", {"proxy_url": "proxy.example:3128"}),
        ("proxy_url", {"proxy_url": "http://name:word@proxy.example"}),
        ("proxy_url", {"proxy_url": "http://proxy.example:99999"}),
        ("proxy_url", {"proxy_url": "http://169.254.169.254:80"}),
        ("proxy_url", {"proxy_url": "http://" + "x" * 400}),
        ("proxy_credential", {"proxy_credential": PASSWORD}),
        ("proxy_credential", {"proxy_url": PROXY, "proxy_credential": "no colon"}),
        ("proxy_credential", {"proxy_url": PROXY, "proxy_credential": "a:b\r\nx: y"}),
        ("ca_certificate", {"ca_certificate": "nothing"}),
        ("ca_certificate", {"ca_certificate": "-----BEGIN CERTIFICATE-----\nAAAA\n"}),
        ("client_certificate", {"client_key": "x"}),
        ("transport", {"transport": "carrier pigeon"}),
        ("transport", {"transport": "direct", "uses_http2": True}),
    ],
)
def test_what_cannot_be_is_refused_beside_its_field(
    provider: Provider, field: str, fields: dict[str, Any]
) -> None:
    found = refused(provider, **fields)

    assert list(found) == [field]
    assert "word" not in str(found).replace("password", "")
    assert not AuditEvent.objects.filter(action="provider.set_connection").exists()


def test_a_key_has_to_be_the_certificates(provider: Provider, authority: Authority) -> None:
    certificate, key = authority.client_certificate("gateway")
    _, other = authority.client_certificate("other")

    assert "client_key" in refused(provider, client_certificate=certificate)
    assert "client_key" in refused(provider, client_certificate=certificate, client_key=other)
    assert "client_key" in refused(provider, client_certificate=certificate, client_key="no key")
    found = refused(provider, client_certificate=certificate + key, client_key=key)
    assert "private key" in found["client_certificate"][0]


def test_an_expired_certificate_is_saved_with_a_warning(
    provider: Provider, authority: Authority
) -> None:
    certificate, key = authority.client_certificate("gateway", age=LIFE + timedelta(days=1))

    assert change(provider, client_certificate=certificate, client_key=key)

    [warning] = connection_warnings(provider)
    assert warning.startswith("The client certificate expired on ")


def test_the_environments_proxy_is_used_unless_the_transport_is_direct(
    provider: Provider, settings: Settings
) -> None:
    settings.ENVIRONMENT_PROXIES = read_environment({"HTTPS_PROXY": "http://a:b@env.example:3128"})

    found = connection_settings(provider)
    assert found is not None
    assert (found.proxy_url, found.proxy_credential) == ("http://env.example:3128", "a:b")
    assert used_transport(provider) == "httpx"
    change(provider, proxy_url=PROXY)
    found = connection_settings(provider)
    assert found is not None
    assert (found.proxy_url, found.proxy_credential) == (PROXY, "")
    change(provider, proxy_url="", transport="direct")
    assert connection_settings(provider) is None


def test_after_reencrypting_the_old_key_is_not_needed_any_more(
    provider: Provider, authority: Authority, settings: Settings
) -> None:
    certificate, key = authority.client_certificate("gateway")
    change(provider, proxy_url=PROXY, proxy_credential=PASSWORD)
    change(provider, client_certificate=certificate, client_key=key)
    before = connection_settings(provider)
    old, new = settings.SEALING_KEYS[0], "n" * 40
    settings.SEALING_KEYS = [new, old]

    assert reencrypt_all(actor=ACTOR) == 3

    settings.SEALING_KEYS = [new]
    assert connection_settings(Provider.objects.get()) == before


def test_the_page_takes_secrets_and_never_shows_them(authority: Authority) -> None:
    make_workspace()
    client = signed_in(make_user(is_operator=True))
    provider = make_provider("up", kind="openai_compatible", base_url="http://127.0.0.1:1/v1")
    certificate, key = authority.client_certificate("gateway")
    shown = initial_of_provider(provider)
    form = {name: value for name, value in shown.items() if value not in (None, False)}
    page = f"/providers/{provider.pk}"

    wrong = client.post(page, form | {"proxy_url": PROXY, "proxy_credential": "canary"})
    assert wrong.status_code == 422
    assert "as name:password" in wrong.content.decode()
    assert '<details class="more" open>' in wrong.content.decode()
    assert "canary" not in wrong.content.decode()

    entered = {
        "proxy_url": "http://127.0.0.1:1",
        "proxy_credential": PASSWORD,
        "client_certificate": certificate,
        "client_key": key,
    }
    assert client.post(page, form | entered).status_code == 302

    text = client.get(page).content.decode()
    assert "httpx" in text
    assert "by the proxy" in text
    assert "Connection changed" in text
    assert "the proxy 127.0.0.1, port 1" in text
    assert "canary" not in text
    assert "PRIVATE KEY" not in text
    assert '<details class="more">' in text
