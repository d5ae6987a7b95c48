"""System checks: settings that are unsafe where others can reach the server.

`manage.py up` does not start on an error, and every server logs warnings.
"""

from __future__ import annotations

import ipaddress
import logging
from collections.abc import Sequence
from urllib.parse import urlsplit

from django.apps import AppConfig
from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register

log = logging.getLogger(__name__)

MIN_SECRET_CHARS = 32


@register(Tags.security)
def check_exposure(
    *, app_configs: Sequence[AppConfig] | None = None, **options: object
) -> list[CheckMessage]:
    """What is harmless on a developer's own machine and dangerous anywhere else."""
    found: list[CheckMessage] = []
    if not is_exposed():
        if "*" in settings.ALLOWED_HOSTS:
            found.append(
                Warning(
                    "TOLLHOUSE_ALLOWED_HOSTS=* accepts any Host header, which allows forged links.",
                    hint="List the hosts, or set TOLLHOUSE_PUBLIC_URL.",
                    id="gateway.W002",
                )
            )
        return found
    if settings.DEBUG:
        found.append(
            Error(
                "TOLLHOUSE_DEBUG shows source code and settings to anyone who causes an error.",
                hint="Unset it, or listen on localhost only.",
                id="gateway.E001",
            )
        )
    if "*" in settings.ALLOWED_HOSTS:
        found.append(
            Error(
                "TOLLHOUSE_ALLOWED_HOSTS accepts any Host header, which allows forged links.",
                hint="List the hosts, or set TOLLHOUSE_PUBLIC_URL.",
                id="gateway.E002",
            )
        )
    if urlsplit(settings.PUBLIC_URL).scheme != "https":
        found.append(
            Warning(
                "Keys and passwords are sent over the network unencrypted.",
                hint="Use a TLS proxy and set TOLLHOUSE_PUBLIC_URL.",
                id="gateway.W001",
            )
        )
    return found


@register(Tags.security)
def check_secrets(
    *, app_configs: Sequence[AppConfig] | None = None, **options: object
) -> list[CheckMessage]:
    """Secrets that could be guessed."""
    secrets = {
        "TOLLHOUSE_SECRET_KEY": [settings.SECRET_KEY],
        "TOLLHOUSE_SEALING_KEYS": settings.SEALING_KEYS,
    }
    return [
        Error(
            f"{name} is shorter than {MIN_SECRET_CHARS} characters.",
            hint="Unset it to generate one, or use 32 random bytes in base64.",
            id="gateway.E003",
        )
        for name, values in secrets.items()
        if any(len(value) < MIN_SECRET_CHARS for value in values)
    ]


@register(Tags.security)
def check_proxies(
    *, app_configs: Sequence[AppConfig] | None = None, **options: object
) -> list[CheckMessage]:
    """Networks whose word about a caller's address is taken."""
    everyone = Error(
        "lets every client choose its own IP address.",
        hint="List the addresses of your proxies.",
        id="gateway.E005",
    )
    return judge_networks("TRUSTED_PROXIES", broken_id="gateway.E004", everything=everyone)


@register(Tags.security)
def check_country_header(
    *, app_configs: Sequence[AppConfig] | None = None, **options: object
) -> list[CheckMessage]:
    """A header that nobody may send."""
    if not settings.COUNTRY_HEADER or settings.TRUSTED_PROXIES:
        return []
    return [
        Error(
            "TOLLHOUSE_COUNTRY_HEADER has no effect: no proxy is trusted.",
            hint="List the proxies that set it in TOLLHOUSE_TRUSTED_PROXIES.",
            id="gateway.E008",
        )
    ]


@register(Tags.security)
def check_fetches(
    *, app_configs: Sequence[AppConfig] | None = None, **options: object
) -> list[CheckMessage]:
    """Networks of ours that callers may have files fetched from."""
    inside = Error(
        "lets callers fetch from every internal address.",
        hint="Public addresses are always allowed. List the internal networks to allow.",
        id="gateway.E007",
    )
    return judge_networks("FETCH_ALLOWED_NETWORKS", broken_id="gateway.E006", everything=inside)


def judge_networks(name: str, *, broken_id: str, everything: Error) -> list[CheckMessage]:
    """Return what is wrong with a setting's networks. everything: what to say of one that has all
    addresses, behind the setting and the network."""
    found: list[CheckMessage] = []
    for text in getattr(settings, name):
        try:
            network = ipaddress.ip_network(text)
        except ValueError as error:
            found.append(Error(f"TOLLHOUSE_{name}: {error}.", id=broken_id))
            continue
        if network.prefixlen == 0:
            words = f"TOLLHOUSE_{name}: {text} {everything.msg}"
            found.append(Error(words, hint=everything.hint, id=everything.id))
    return found


def log_warnings() -> None:
    """Say in the log what the settings risk, for who does not run the checks."""
    for message in check_exposure():
        log.warning("%s %s", message.msg, message.hint)


def is_exposed() -> bool:
    """True when others than this machine can reach us: by address, or through a proxy."""
    public_host = urlsplit(settings.PUBLIC_URL).hostname
    return not all(is_loopback(host) for host in (settings.HOST, public_host) if host)


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
