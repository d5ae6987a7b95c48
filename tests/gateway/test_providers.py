"""Adding, moving and switching off providers."""

from __future__ import annotations

import pytest
from django.core.exceptions import ValidationError
from pytest_django import Settings

from accounts.models import AuditEvent, ConfigChange
from gateway.models import Provider
from gateway.providers import catalogue
from gateway.services.providers import set_base_url, set_credential, set_provider_enabled
from tests.factories import ACTOR, make_provider, stored_credential

pytestmark = pytest.mark.django_db


def catalogue_changes() -> int:
    return ConfigChange.objects.filter(kind=ConfigChange.Kind.CATALOGUE).count()


@pytest.mark.parametrize("kind", catalogue.ALL, ids=lambda kind: str(kind.name))
def test_every_kind_can_be_added(kind: catalogue.ProviderKind) -> None:
    settings = {
        each.name: each.choices[0] if each.choices else each.example
        for each in kind.settings
        if each.required
    }
    provider = make_provider(
        "up",
        kind=kind.name,
        base_url="" if kind.base_url else "http://127.0.0.1:8080/v1",
        credential="sk-1" if kind.needs_credential else None,
        settings=settings,
    )

    assert provider.base_url == (kind.fill_base_url(settings) or "http://127.0.0.1:8080/v1")
    assert bool(stored_credential(provider)) == kind.needs_credential
    assert catalogue_changes() == 1


@pytest.mark.parametrize(
    ("field", "fields"),
    [
        ("kind", {"kind": "nobody"}),
        ("kind", {"kind": ""}),
        ("base_url", {"kind": "vllm"}),
        ("credential", {"kind": "openai"}),
        ("credential", {"kind": "openai", "credential": "  "}),
        ("credential", {"kind": "openai", "credential": "sk\r\nx-evil: 1"}),
        ("credential", {"kind": "openai", "credential": "sk one"}),
        ("credential", {"kind": "openai", "credential": "sk\x00one"}),
        ("credential", {"kind": "openai", "credential": "sk\r\none"}),
        ("credential", {"kind": "openai", "credential": "sk-ключ"}),
        ("credential", {"kind": "openai", "credential": "x" * 4097}),
        ("name", {"name": ""}),
        ("name", {"name": "with space"}),
        ("name", {"name": "x" * 61}),
        ("name", {"name": "taken"}),
    ],
)
def test_what_cannot_work_is_refused_by_its_field(field: str, fields: dict[str, str]) -> None:
    make_provider("taken")

    with pytest.raises(ValidationError) as refusal:
        make_provider(**({"name": "up"} | fields))

    assert set(refusal.value.message_dict) == {field}
    assert Provider.objects.count() == 1


@pytest.mark.parametrize(
    ("typed", "stored"),
    [
        ("https://api.example.com/v1", "https://api.example.com/v1"),
        (" https://api.example.com/v1/ \n", "https://api.example.com/v1"),
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
        ("http://[::1]:8080/v1", "http://[::1]:8080/v1"),
        ("HTTPS://API.example.com", "HTTPS://API.example.com"),
    ],
)
def test_a_base_url_is_stored_without_its_last_slash(typed: str, stored: str) -> None:
    assert make_provider(kind="vllm", base_url=typed).base_url == stored


@pytest.mark.parametrize(
    "url",
    [
        *("api.example.com", "//api.example.com", "ftp://example.com", "file:///etc/passwd"),
        *("javascript:alert(1)", "simulated://local", "https://", "https:///v1", "http://:80"),
        *("https://user@example.com", "https://user:pw@example.com", "https://@example.com"),
        *("https://example.com/?a=1", "https://example.com/?", "https://example.com/#x"),
        *("https://example.com:99999", "https://example.com:x", "https://example.com:0"),
        *("https://exa mple.com", "https://example.com\\@evil.example", "https://example.com/\tx"),
        *(
            "https://exämple.com",
            "https://[::1",
            "https://example.com/\x00",
            "https://" + "x" * 400,
        ),
    ],
)
def test_a_base_url_that_could_mislead_is_refused(url: str) -> None:
    with pytest.raises(ValidationError) as refusal:
        make_provider(kind="vllm", base_url=url)

    assert set(refusal.value.message_dict) == {"base_url"}


METADATA = [
    *("http://169.254.169.254", "http://169.254.1.1:8000/v1", "http://[::ffff:169.254.169.254]/"),
    *("http://0xa9fea9fe/", "http://2852039166/v1", "http://169.254.43518/", "http://0251.254.1/"),
    *("http://[fe80::1]:8000", "http://[fe80::1%25eth0]/", "http://[fd00:ec2::254]/latest"),
    *("http://168.63.129.16/", "http://100.100.100.200/v1", "http://[64:ff9b::a9fe:a9fe]/"),
    *(
        "http://metadata.google.internal/v1",
        "http://Metadata.Google.Internal./",
        "http://metadata/",
    ),
    *("http://[2002:a9fe:a9fe::1]/", "http://[::169.254.169.254]/", "http://169.254.169.254./"),
]


@pytest.mark.parametrize("url", METADATA)
def test_a_base_url_that_leads_to_credentials_is_refused(url: str, settings: Settings) -> None:
    provider = make_provider("first", kind="vllm", base_url="http://10.0.0.5:8000/v1")
    for save in (
        lambda: make_provider("second", kind="vllm", base_url=url),
        lambda: set_base_url(provider, base_url=url, actor=ACTOR),
    ):
        with pytest.raises(ValidationError) as refusal:
            save()
        assert "TOLLHOUSE_LINK_LOCAL_PROVIDERS" in refusal.value.message_dict["base_url"][0]

    settings.LINK_LOCAL_PROVIDERS = True
    found = make_provider("second", kind="vllm", base_url=url)
    assert found.base_url == url.rstrip("/")


def test_the_simulated_kind_goes_nowhere_else() -> None:
    with pytest.raises(ValidationError):
        make_provider(kind="simulated", base_url="https://example.com")


def test_a_new_credential_takes_the_place_of_the_old_one() -> None:
    provider = make_provider(kind="openai", credential="sk-1")

    set_credential(provider, credential=" sk-2\n", actor=ACTOR)

    assert stored_credential(provider) == "sk-2"
    assert catalogue_changes() == 2


def test_a_stored_credential_is_not_sent_to_another_host() -> None:
    provider = make_provider(kind="openai", credential="sk-1")

    for url in (
        "https://evil.example/v1",
        "http://api.openai.com/v1",
        "https://api.openai.com:8443",
    ):
        with pytest.raises(ValidationError) as refusal:
            set_base_url(provider, base_url=url, actor=ACTOR)
        assert set(refusal.value.message_dict) == {"credential"}

    assert Provider.objects.get().base_url == "https://api.openai.com/v1"


def test_a_provider_moves_with_a_new_credential_or_within_its_host() -> None:
    provider = make_provider(kind="openai", credential="sk-1")

    moves = [
        set_base_url(provider, base_url="https://api.openai.com/v2", actor=ACTOR),
        set_base_url(provider, base_url="https://api.openai.com/v2/", actor=ACTOR),
        set_base_url(provider, base_url="https://eu.example/v1", credential="sk-2", actor=ACTOR),
    ]

    assert moves == [True, False, True]
    assert Provider.objects.get().base_url == "https://eu.example/v1"
    assert stored_credential(provider) == "sk-2"


def test_switching_off_and_on_is_told_once_each() -> None:
    provider = make_provider()

    answers = [
        set_provider_enabled(provider, enabled=enabled, actor=ACTOR)
        for enabled in (False, False, True, True)
    ]

    actions = AuditEvent.objects.order_by("id").values_list("action", flat=True)
    assert answers == [True, False, True, False]
    assert list(actions) == ["provider.add", "provider.disable", "provider.enable"]
    assert catalogue_changes() == 3
