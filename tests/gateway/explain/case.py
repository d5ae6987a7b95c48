"""Generated calls, each with what is planted to have it refused, and the rules it comes under."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from hashlib import sha256
from ipaddress import ip_network

import msgspec
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from gateway.admission.limit_rules import CONCURRENT
from gateway.core.budget_owner import key_owner, workspace_owner
from gateway.core.money import Price
from gateway.core.name_patterns import compile_names
from gateway.core.request import RequestHead
from gateway.snapshot.types import (
    AddressRules,
    CallerRules,
    CallLimits,
    CountryRules,
    KeyLimits,
    KeyRecord,
    LimitRule,
    ModelRecord,
    ModelRules,
    Snapshot,
    SpendingLimits,
    TargetRecord,
)

SECRET = b"secret"
DIGEST = sha256(SECRET).hexdigest()
NETWORK = ip_network("10.0.0.0/8")
RICH_NUSD = 10**12
# More than a call uses, as a limit of any metric.
MUCH = 10**9
NO_LIMITS = (CallLimits(), CallLimits(), None)
NEED_LIMITS = frozenset({"budget", "limits", "concurrency"})
# What a case may plant to have its call refused, by the step that should refuse it.
PLANTED = (
    *("key", "life", "address", "user_agent", "country", "scope", "request", "model"),
    *("parameters", "fallbacks", "workspace", "losses", "context", "money", "budget"),
    *("caps", "limits", "concurrency"),
)
LEVELS = ("setting", "installation", "model", "workspace", "member", "key")
PERIODS = ("hour", "day", "week", "month")
ALGORITHMS = ("rolling", "fixed_window", "sliding_window", "token_bucket")
CAPPED = ("tokens", "prompt_tokens", "cost_micro_usd")
METRICS = (*CAPPED, "completion_tokens", "requests")


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """One call and the state it meets."""

    planted: frozenset[str]
    # Whose limit it is that refuses, where it is a setting.
    of_workspace: bool
    # And where it is a rule, what it is.
    level: str
    metric: str
    capped: str
    period: str
    algorithm: str
    # Rules that may refuse or not, and calls that have been made under them.
    rules: Sequence[LimitRule]
    calls_before: int
    # Which of two ways it is planted in.
    other_way: bool
    has_limits: bool
    may_queue: bool
    streams: bool
    # What the balance has beyond the least that the call can cost, as a share of the rest.
    rest_percent: int
    max_tokens: int | None
    n: int
    words: int
    has_fallback: bool


def make_rule(
    level: str, metric: str, maximum: int, period: str, algorithm: str, *, caps: bool = False
) -> LimitRule:
    is_counted = not caps and metric != CONCURRENT
    return LimitRule(
        rule_id=f"{level}-{metric}-{maximum}-{period}-{algorithm}-{caps}",
        level=level,
        owner={"installation": "", "model": "m"}.get(level, level),
        metric=metric,
        maximum=maximum,
        period=period if is_counted else "",
        algorithm=algorithm if is_counted else "",
        per_request=caps,
    )


def rules_of(metrics: Sequence[str], most: int, *, caps: bool = False) -> SearchStrategy[LimitRule]:
    return st.builds(
        make_rule,
        st.sampled_from(LEVELS[1:]),
        st.sampled_from(metrics),
        st.integers(1, most),
        st.sampled_from(PERIODS),
        st.sampled_from(ALGORITHMS),
        caps=st.just(caps),
    )


rules = st.one_of(
    rules_of(["requests", CONCURRENT], 3),
    rules_of(["tokens", "prompt_tokens", "completion_tokens"], 700),
    rules_of(["cost_micro_usd"], 1_500_000),
    rules_of(["tokens", "prompt_tokens", "completion_tokens"], 200, caps=True),
)
cases = st.builds(
    Case,
    planted=st.frozensets(st.sampled_from(PLANTED), max_size=3),
    level=st.sampled_from(LEVELS),
    metric=st.sampled_from(METRICS),
    capped=st.sampled_from(CAPPED),
    period=st.sampled_from(PERIODS),
    algorithm=st.sampled_from(ALGORITHMS),
    rules=st.lists(rules, max_size=4, unique_by=lambda rule: rule.rule_id),
    calls_before=st.integers(0, 3),
    of_workspace=st.booleans(),
    other_way=st.booleans(),
    has_limits=st.booleans(),
    may_queue=st.booleans(),
    streams=st.booleans(),
    rest_percent=st.sampled_from([0, 1, 50, 100, 1000]),
    max_tokens=st.sampled_from([None, 1, 7, 100]),
    n=st.integers(1, 3),
    words=st.integers(5, 40),
    has_fallback=st.booleans(),
)


def make_head(case: Case) -> RequestHead:
    headers = [
        (b"authorization", b"Bearer " + SECRET),
        (b"x-forwarded-for", b"192.0.2.1" if "address" in case.planted else b"10.1.1.1"),
        (b"x-country", b"FR" if "country" in case.planted else b"DE"),
        (b"user-agent", b"evil/2" if "user_agent" in case.planted else b"good/1"),
    ]
    return RequestHead(
        request_id="id", headers=headers, peer="127.0.0.1", fields=dict(headers), started_ns=0
    )


def make_body(case: Case) -> bytes:
    if "request" in case.planted and case.other_way:
        return b'{"model":'
    content: object = "word " * case.words
    if "request" in case.planted:
        content = 5
    body: dict[str, object] = {
        "model": "nothing" if "model" in case.planted and case.other_way else "m",
        "messages": [{"role": "user", "content": content}],
        "stream": case.streams,
        "n": case.n,
    }
    if case.max_tokens is not None:
        body["max_tokens"] = case.max_tokens
    if "parameters" in case.planted:
        body["unheard_of"] = 1
    if "fallbacks" in case.planted:
        body["models"] = ["other", "missing"]
    elif case.has_fallback:
        body["models"] = ["other"]
    return json.dumps(body).encode()


def make_snapshot(case: Case) -> Snapshot:
    models = {}
    for name, factor in (("m", 1), ("other", 3)):
        price = Price(1_000_000 * factor, 1_000_000 * factor, 2_000_000 * factor)
        target = TargetRecord(
            model=name,
            provider="p",
            kind="openai_compatible",
            base_url="http://127.0.0.1",
            native_model=name,
            price=price,
        )
        models[name] = ModelRecord(
            name=name,
            display_name=name,
            description="",
            owned_by="us",
            created=0,
            price=price,
            context_tokens=1 if "context" in case.planted else 4000,
            max_output_tokens=500,
            unknown_fields="reject",
            targets=(target,),
        )
    rules = rules_by_level(case_rules(case))
    return Snapshot(
        models=models,
        rules=tuple(rule for rule in rules if rule.level == "installation"),
        model_rules={"m": tuple(rule for rule in rules if rule.level == "model")},
    )


def case_rules(case: Case) -> list[LimitRule]:
    rules = list(case.rules)
    is_rule = case.level != "setting"
    if "caps" in case.planted:
        level = case.level if is_rule else "key"
        rules.append(make_rule(level, case.capped, 1, "", "", caps=True))
    if "limits" in case.planted and is_rule:
        rules.append(period_rule(case))
    if "concurrency" in case.planted and is_rule:
        rules.append(concurrency_rule(case))
    return rules


def period_rule(case: Case) -> LimitRule:
    return make_rule(case.level, case.metric, MUCH, case.period, case.algorithm)


def concurrency_rule(case: Case) -> LimitRule:
    return make_rule(case.level, CONCURRENT, 1, "", "")


def rules_by_level(rules: Sequence[LimitRule]) -> tuple[LimitRule, ...]:
    return tuple(sorted(rules, key=lambda rule: LEVELS.index(rule.level)))


def balance_of(case: Case) -> int:
    """A prompt token costs 1,000 nano-USD, one of output 2,000; a prompt has at most a token per
    byte and some more."""
    if "money" in case.planted:
        return 900
    return 3_000_000 + case.rest_percent * 60_000


def limits_of(case: Case) -> KeyLimits:
    """Every case has room for what is not planted."""
    room = CallLimits(1, 2, 2)
    planted = case.planted if case.level == "setting" else frozenset()
    tight = CallLimits(
        per_minute=1,
        burst=1 if "limits" in planted else 2,
        at_once=1 if "concurrency" in planted else 2,
    )
    limits = (room, tight) if case.of_workspace else (tight, room)
    daily_nusd = 500 if "budget" in case.planted else RICH_NUSD
    budget = SpendingLimits(key_owner("k", "w"), daily_nusd=daily_nusd, total_nusd=RICH_NUSD)
    if case.of_workspace:
        budget = SpendingLimits(workspace_owner("w"), monthly_nusd=daily_nusd)
    own = [rule for rule in case_rules(case) if rule.level in LEVELS[3:]]
    return KeyLimits(*limits, (budget,), rules_by_level(own))


def make_key(case: Case) -> KeyRecord:
    planted = case.planted
    has_limits = case.has_limits or case_rules(case) or planted & NEED_LIMITS
    expires, revokes = (
        ("life" in planted and case.other_way),
        ("life" in planted and not case.other_way),
    )
    forbids = "model" in planted and not case.other_way
    return KeyRecord(
        key_id="k",
        digest=DIGEST,
        workspace_id="w",
        scopes=frozenset() if "scope" in planted else frozenset({"completions"}),
        expires_at=1.0 if expires else None,
        revoked=revokes,
        workspace_locked="workspace" in planted,
        stores_bodies=False,
        models=ModelRules(denied=(compile_names(("m*",)),)) if forbids else None,
        addresses=AddressRules(denied=(ip_network("10.9.0.0/16"),), allowed=((NETWORK,),)),
        callers=CallerRules(
            denied_user_agents=compile_names(("evil*",)),
            countries=CountryRules(None, frozenset({"FR"})),
        ),
        limits=limits_of(case) if has_limits else None,
        refused_until=time.time() + 1000 if "losses" in planted else 0.0,
    )
