"""The pages that `python -m bench.pages` loads: every list with every filter, first and deep."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from urllib.parse import urlencode

from gateway.core.ids import new_request_id
from gateway.selectors.id_times import first_id_at

PROVIDER = "load-test"
DAY_S = 86_400
OVERVIEW = "?period=30d"
# Of the list of calls, by what they filter by.
FILTERS: dict[str, dict[str, str]] = {
    "no filter": {},
    "status ok": {"status": "ok"},
    "all errors": {"status": "failed"},
    "status refused": {"status": "refused"},
    "status partial": {"status": "partial"},
    "model": {"model": "load/long"},
    "model, errors": {"model": "load/long", "status": "failed"},
    "unknown model": {"model": "nothing/like-it"},
    "provider": {"provider": PROVIDER},
    "unknown provider": {"provider": "nothing-like-it"},
    "error code": {"error": "provider_timeout"},
    "error code, status": {"error": "provider_timeout", "status": "upstream_error"},
    "unknown code": {"error": "nothing_like_it"},
    "streamed": {"streamed": "yes"},
    "not streamed": {"streamed": "no"},
    "fallback": {"fallback": "yes"},
    "no fallback": {"fallback": "no"},
    "at least 5 s": {"min_ms": "5000"},
    "at least 2 min": {"min_ms": "120000"},
    "key": {"key": "{key}"},
    "rare key": {"key": "{rare_key}"},
    "key, errors": {"key": "{key}", "status": "failed"},
    "key, model, slow": {"key": "{key}", "model": "load/large", "min_ms": "5000"},
    "everything": {
        "status": "ok",
        "model": "load/large",
        "provider": PROVIDER,
        "key": "{key}",
        "streamed": "yes",
        "fallback": "no",
        "min_ms": "1000",
    },
}
GROUPS = ("", "model", "key", "day", "member", "key,day", "model,day", "key,model,day,member")


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What addresses are made of. workspace: where its pages begin. days: of calls. entries: of
    its ledger. key, rare_key: with many and with few calls."""

    workspace: str
    days: float
    entries: int
    key: str
    rare_key: str
    call: str


@dataclass(frozen=True, slots=True)
class Page:
    """address: asked anew for each view. is_api: with a key instead of a session."""

    label: str
    address: Callable[[], str]
    is_api: bool = False


def all_pages(facts: Facts, *, seed: int = 1) -> list[Page]:
    chance = random.Random(seed)
    return [
        *_overviews(facts),
        *_calls(facts, chance),
        *_lists(facts, chance),
        *_of_installation(),
        *_usage(facts),
    ]


def _fixed(label: str, address: str) -> Page:
    return Page(label, lambda: address)


def _overviews(facts: Facts) -> list[Page]:
    named = [f"?period={name}" for name in ("1h", "today", "24h", "7d", "30d")]
    end = datetime.now(UTC)
    for days in (3, 45, facts.days):
        start = end - timedelta(days=days)
        named.append(f"?from={start:%Y-%m-%dT%H:%M}&to={end:%Y-%m-%dT%H:%M}")
    odd = end - timedelta(days=facts.days / 2, minutes=37)
    named.append(f"?from={odd:%Y-%m-%dT%H:%M}&to={end:%Y-%m-%dT%H:%M}")
    return [_fixed(f"overview {query}", facts.workspace + query) for query in named]


def _calls(facts: Facts, chance: random.Random) -> list[Page]:
    here = f"{facts.workspace}/calls"
    pages = []
    for label, values in FILTERS.items():
        query = urlencode({name: text.format(**_names(facts)) for name, text in values.items()})
        pages += [
            _fixed(f"calls of 7 days, {label}", f"{here}?{query}"),
            _fixed(f"calls ever, {label}", f"{here}?period=all&{query}"),
            Page(
                f"calls, {label}, a deep page",
                partial(_from_somewhere, f"{here}?period=all&{query}&before=", facts, chance),
            ),
            Page(
                f"calls, {label}, newer from there",
                partial(_from_somewhere, f"{here}?period=all&{query}&after=", facts, chance),
            ),
        ]
    return [
        *pages,
        _fixed("calls, an ID that is none", f"{here}?id={new_request_id()}"),
        _fixed("a call", f"{here}/{facts.call}"),
    ]


def _lists(facts: Facts, chance: random.Random) -> list[Page]:
    here = facts.workspace
    pages = [
        *("/keys", "/keys?state=all", "/keys?state=revoked", "/keys?state=expired"),
        *("/keys?q=Key+1", "/keys?q=nothing-like-it", f"/keys/{facts.key}", "/keys/new"),
        *("/members", "/members?q=member-7", "/settings", "/credits", "/credits?show=entries"),
        *("/credits?show=movements", "/audit", "/audit?q=nothing-like-it", "/search?q=key"),
        *("/limits", "/limits?q=nothing-like-it", "/limits/new"),
    ]
    return [
        *(_fixed(path, here + path) for path in pages),
        Page(
            "/credits, a deep page",
            lambda: f"{here}/credits?before={chance.randrange(2, facts.entries)}",
        ),
        Page(
            "/credits?show=entries, a deep page",
            lambda: f"{here}/credits?show=entries&before={chance.randrange(2, facts.entries)}",
        ),
    ]


def _of_installation() -> list[Page]:
    paths = (
        *("/workspaces", "/workspaces?q=test+17", "/workspaces?q=nothing-like-it", "/models"),
        *("/models?q=large", "/providers", "/installation/audit", "/reference"),
        *("/installation/limits", "/installation/limits/new", "/search?q=test"),
    )
    return [_fixed(path, path) for path in paths]


def _usage(facts: Facts) -> list[Page]:
    pages = []
    for days in (1, 30, min(facts.days, 365)):
        start = datetime.now(UTC) - timedelta(days=days)
        for by in GROUPS:
            query = urlencode({"group_by": by, "start": f"{start:%Y-%m-%dT%H:%M:%S}"})
            label = f"usage of {days:.0f} days by {by or 'nothing'}"
            pages.append(replace(_fixed(label, f"/v1/usage?{query}"), is_api=True))
    return pages


def _names(facts: Facts) -> dict[str, str]:
    return {"key": facts.key, "rare_key": facts.rare_key}


def _from_somewhere(address: str, facts: Facts, chance: random.Random) -> str:
    """Return the address with an ID of a moment somewhere in the time of the calls."""
    ago_s = chance.random() * facts.days * DAY_S
    return address + str(first_id_at(datetime.now(UTC) - timedelta(seconds=ago_s)))
