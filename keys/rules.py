"""The rules on a key as people write them, checked and brought into the form we store.

Every function raises ValidationError for the field it reads, with sentences for people.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    collapse_addresses,
    ip_address,
    ip_network,
)
from typing import TypedDict, cast

from django.core.exceptions import ValidationError
from django.utils import timezone

from accounts.text import is_visible, read_line
from gateway.core.json_types import JsonObject
from keys.models import Scope

LABEL_CHARS = 80
MAX_RULES = 1_000
MAX_MODELS = 1_000
MODEL_CHARS = 200
_SHOWN_CHARS = 64
_SHOWN_ERRORS = 5
_ANY_ADDRESS = "These rules allow every IP address. Confirm this, or remove the rules."
_NO_ADDRESS = "These rules deny every IP address. Revoke keys or lock the workspace instead."
_NO_MODEL = "* denies every model. Revoke keys or lock the workspace instead."
_SEVERAL = re.compile(r"[\s,]")
_PREFIX = re.compile(r"0|[1-9][0-9]{0,2}")

Network = IPv4Network | IPv6Network
Readers = Mapping[str, Callable[[], object]]


class KeyRules(TypedDict):
    """What a key is called and what it may do, as it is stored."""

    label: str
    scopes: list[str]
    allowed_models: list[str]
    denied_models: list[str]
    allowed_ips: list[str] | None
    denied_ips: list[str]
    expires_at: datetime | None


def read_rules(
    *,
    label: str,
    scopes: Sequence[str],
    allowed_models: Sequence[str],
    denied_models: Sequence[str] = (),
    allowed_ips: Sequence[str] | None,
    denied_ips: Sequence[str] = (),
    expires_at: datetime | None,
    allow_any_address: bool,
) -> KeyRules:
    """Return the fields as they are stored, or raise with the errors of all of them at once."""
    readers: Readers = {
        "label": lambda: read_line(label, field="label", max_chars=LABEL_CHARS),
        "scopes": lambda: read_scopes(scopes),
        "allowed_models": lambda: read_model_names(allowed_models),
        "denied_models": lambda: read_denied_models(denied_models),
        "allowed_ips": lambda: read_networks(allowed_ips, allow_any_address=allow_any_address),
        "denied_ips": lambda: read_denied_networks(denied_ips),
        "expires_at": lambda: read_expiry(expires_at),
    }
    return cast(KeyRules, read_all(readers))


def read_all(readers: Readers) -> JsonObject:
    """Return what each reads, or raise with the errors of all of them at once."""
    rules: JsonObject = {}
    errors: dict[str, list[ValidationError]] = {}
    for name, read in readers.items():
        try:
            rules[name] = read()
        except ValidationError as error:
            errors.update(error.error_dict)
    if errors:
        raise ValidationError(errors)
    return rules


def as_json(rules: KeyRules) -> JsonObject:
    """Return what the audit log says of the rules: JSON only."""
    expires_at = rules["expires_at"]
    return {**rules} | {"expires_at": expires_at.isoformat() if expires_at else None}


def read_scopes(scopes: Sequence[str]) -> list[str]:
    """Return the scopes once each, in the order of Scope. At least one is needed."""
    if isinstance(scopes, str) or not all(isinstance(scope, str) for scope in scopes):
        raise ValidationError({"scopes": "Scopes must be a list of names."})
    unknown = sorted(set(scopes) - set(Scope.values))
    if unknown:
        known = ", ".join(Scope.values)
        raise ValidationError(
            {"scopes": f"The scope {unknown[0][:40]!r} does not exist. The scopes are {known}."}
        )
    if not scopes:
        raise ValidationError({"scopes": "Choose at least one scope."})
    return [scope for scope in Scope.values if scope in scopes]


def read_model_names(names: Sequence[str], field: str = "allowed_models") -> list[str]:
    """Return the names and patterns trimmed, once each."""
    if isinstance(names, str):
        raise ValidationError({field: "Models must be a list of names."})
    if len(names) > MAX_MODELS:
        raise ValidationError({field: f"Choose at most {MAX_MODELS} models (now {len(names)})."})
    return list(dict.fromkeys(_read_model_name(name, field) for name in names))


def read_denied_models(names: Sequence[str]) -> list[str]:
    """Do the same for models that are denied, which cannot be all."""
    denied = read_model_names(names, "denied_models")
    if any(not name.strip("*") for name in denied):
        raise ValidationError({"denied_models": _NO_MODEL})
    return denied


def _read_model_name(name: object, field: str) -> str:
    text = name.strip() if isinstance(name, str) else ""
    if not text:
        raise ValidationError({field: "A model name cannot be empty."})
    if _SEVERAL.search(text):
        words = f"{text[:40]!r} is more than one model name. Enter the names one by one."
        raise ValidationError({field: words})
    if len(text) > MODEL_CHARS or not is_visible(text):
        raise ValidationError(
            {
                field: f"{text[:40]!r}… is not a model name: at most {MODEL_CHARS}"
                " visible characters."
            }
        )
    return text


def read_expiry(expires_at: datetime | None) -> datetime | None:
    """Return the moment, which must be aware and lie ahead. None means never."""
    if expires_at is None:
        return None
    if timezone.is_naive(expires_at):
        raise ValidationError({"expires_at": "The time needs a time zone."})
    if expires_at <= timezone.now():
        raise ValidationError({"expires_at": "This time has passed. Choose a future time."})
    return expires_at


def read_networks(rules: Sequence[str] | None, *, allow_any_address: bool) -> list[str] | None:
    """Return the networks in canonical form, once each.

    None means any address and [] means none. Rules that together let a whole address family in
    are usually a slip, so they need allow_any_address.
    """
    if rules is None:
        return None
    networks = _read_list(rules, "allowed_ips")
    if not allow_any_address and any(_families_covered(networks)):
        raise ValidationError({"allowed_ips": _ANY_ADDRESS})
    return [str(network) for network in networks]


def read_denied_networks(rules: Sequence[str]) -> list[str]:
    """Do the same for networks that are denied, which cannot be all."""
    networks = _read_list(rules, "denied_ips")
    if all(_families_covered(networks)):
        raise ValidationError({"denied_ips": _NO_ADDRESS})
    return [str(network) for network in networks]


def _read_list(rules: Sequence[str], field: str) -> dict[Network, None]:
    if isinstance(rules, str):
        raise ValidationError({field: "IP rules must be a list of networks."})
    if len(rules) > MAX_RULES:
        raise ValidationError({field: f"Enter at most {MAX_RULES} rules (now {len(rules)})."})
    networks: dict[Network, None] = {}
    errors: list[str] = []
    for rule in rules:
        try:
            networks[read_network(rule)] = None
        except ValueError as error:
            errors.append(str(error))
    if errors:
        raise ValidationError({field: errors[:_SHOWN_ERRORS]})
    return networks


def read_network(rule: object) -> Network:
    """Return the network that a rule such as `203.0.113.0/24` or `2001:db8::7` means.

    IPv4-mapped forms become IPv4, because that is how callers are seen. Other forms that carry
    an IPv4 address (NAT64, 6to4) stay what they are. Raises ValueError with a sentence.
    """
    if not isinstance(rule, str):
        raise ValueError("An IP rule must be text such as 203.0.113.0/24.")
    text = rule.strip(" \t\r\n,")
    shown = repr(text[:_SHOWN_CHARS])
    if not text:
        raise ValueError("An IP rule cannot be empty.")
    if "%" in text:
        raise ValueError(f"{shown} names a network interface, which is not allowed.")
    address_text, slash, prefix_text = text.partition("/")
    try:
        address = ip_address(address_text)
    except ValueError:
        raise ValueError(
            f"{shown} is not an IP address or network. Use 203.0.113.7, 203.0.113.0/24 or"
            " 2001:db8::/32."
        ) from None
    width = address.max_prefixlen
    if slash and not (_PREFIX.fullmatch(prefix_text) and int(prefix_text) <= width):
        raise ValueError(f"{shown}: the number after the slash must be from 0 to {width}.")
    return _network_of(address, int(prefix_text) if slash else width, shown)


def _network_of(address: IPv4Address | IPv6Address, prefix: int, shown: str) -> Network:
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        if prefix < 96:
            raise ValueError(f"{shown} covers more than all of IPv4. Use an IPv4 network instead.")
        address, prefix = address.ipv4_mapped, prefix - 96
    network = ip_network((address, prefix), strict=False)
    if network.network_address != address:
        raise ValueError(
            f"{shown} is both an address and a network: write {network} for the network or"
            f" {address} for the address alone."
        )
    return network


def _families_covered(networks: Iterable[Network]) -> tuple[bool, bool]:
    """Return whether the networks have all of IPv4, and all of IPv6."""
    four = collapse_addresses(net for net in networks if isinstance(net, IPv4Network))
    six = collapse_addresses(net for net in networks if isinstance(net, IPv6Network))
    return any(net.prefixlen == 0 for net in four), any(net.prefixlen == 0 for net in six)
