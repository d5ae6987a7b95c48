"""What is harmless on one's own machine is refused where others can come."""

from __future__ import annotations

import pytest
from django.core.checks import CheckMessage, run_checks
from pytest_django import Settings

from gateway.checks import log_warnings


def found() -> set[str | None]:
    messages: list[CheckMessage] = run_checks()
    return {message.id for message in messages if (message.id or "").startswith("gateway.")}


def test_an_installation_for_one_machine_has_nothing_to_answer_for(
    settings: Settings,
) -> None:
    settings.DEBUG = True

    assert found() == set()


def test_any_host_is_warned_about_even_there(
    settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    settings.ALLOWED_HOSTS = ["*"]

    log_warnings()

    assert found() == {"gateway.W002"}
    assert "TOLLHOUSE_ALLOWED_HOSTS=* accepts any Host header" in caplog.text


@pytest.mark.parametrize(
    ("host", "public_url"),
    [
        ("0.0.0.0", ""),
        ("192.0.2.7", ""),
        ("::", ""),
        ("gw.internal", ""),
        ("127.0.0.1", "http://gw.example.com"),
    ],
)
def test_others_shall_not_see_debug_pages_nor_send_secrets_in_the_clear(
    settings: Settings, host: str, public_url: str
) -> None:
    settings.HOST, settings.PUBLIC_URL = host, public_url
    settings.DEBUG = True
    settings.ALLOWED_HOSTS = ["*"]

    assert found() == {"gateway.E001", "gateway.E002", "gateway.W001"}


def test_behind_a_proxy_that_speaks_tls_all_is_well(settings: Settings) -> None:
    settings.PUBLIC_URL = "https://gw.example.com"
    settings.TRUSTED_PROXIES = ["127.0.0.1/32", "10.0.0.0/8", "fd00::/8"]

    assert found() == set()


def test_secrets_that_can_be_guessed_are_refused(settings: Settings) -> None:
    settings.SEALING_KEYS = ["x" * 64, "short"]

    assert found() == {"gateway.E003"}


@pytest.mark.parametrize(
    ("network", "id_"),
    [
        ("10.0.0.0/33", "gateway.E004"),
        ("10.0.0.1/8", "gateway.E004"),
        ("proxy.internal", "gateway.E004"),
        ("0.0.0.0/0", "gateway.E005"),
        ("::/0", "gateway.E005"),
    ],
)
def test_a_proxy_is_a_network_and_not_everyone(settings: Settings, network: str, id_: str) -> None:
    settings.TRUSTED_PROXIES = [network]

    assert found() == {id_}


@pytest.mark.parametrize(
    ("network", "id_"),
    [
        ("10.0.0.1/8", "gateway.E006"),
        ("files.internal", "gateway.E006"),
        ("0.0.0.0/0", "gateway.E007"),
        ("::/0", "gateway.E007"),
    ],
)
def test_files_come_from_networks_that_are_named(
    settings: Settings, network: str, id_: str
) -> None:
    settings.FETCH_ALLOWED_NETWORKS = ["10.1.0.0/16", network]

    assert found() == {id_}
