"""Fills the installation that TOLLHOUSE_HOME names, so that its pages look lived in.

Run as a program of its own (`python -m tests.dashboard.fill_home`), before the server starts.
"""

from __future__ import annotations

import os
from datetime import timedelta
from typing import TYPE_CHECKING

import django

if TYPE_CHECKING:
    from accounts.models import Membership
    from accounts.untyped import Arguments
    from keys.limit_rules import RuleHolder
    from keys.models import ApiKey
    from tests.dashboard.demo_data import DemoModel

PROMPTED = "deepseek-v3.2"
PROMPT = """You help the people of {{ org_name }}. Be brief and say where you know something from.

It is {{ now_time }} on {{ now_day_of_week }}, {{ now_date }}."""
MEMBER_EMAIL = "noor@example.com"
INVITED_EMAIL = "somebody.whose.name.nobody.cut.short@subsidiary.example.com"
LONG_MODEL = (
    "north-sea-research/an-extraordinarily-long-name-of-a-model-that-nobody-cut-short-v2-fp8"
)
UNKNOWN_MODEL = "gpt-9-enormous"
SPIKE_AGO = timedelta(hours=8)
LONG_LABELS = ("W" * 80, "مفتاح الإنتاج \N{KEY} backend")


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gateway.settings")
    django.setup()
    _fill()


def _fill() -> None:
    from django.utils import timezone

    from accounts.invitations import invite
    from accounts.models import Membership, Role, User, Workspace
    from accounts.services import create_user, create_workspace, set_call_limits
    from gateway.core.money import NUSD_PER_USD
    from gateway.models import LanguageModel, Provider
    from keys.services import revoke_key, set_limits
    from tests.dashboard.demo_data import (
        MODELS,
        make_demo_data,
        make_error_spike,
        make_unknown_model_call,
    )
    from tests.factories import ACTOR, PASSWORD, make_key, make_model

    workspace = Workspace.objects.get()
    operator = User.objects.get()
    for model in MODELS:
        if not LanguageModel.objects.filter(name=model.name).exists():
            _add(model)
    first, second, *_ = make_demo_data(workspace)
    make_error_spike(workspace, second, at=timezone.now() - SPIKE_AGO)
    make_unknown_model_call(workspace, first, model=UNKNOWN_MODEL)
    limits = {
        "max_requests_per_minute": 60,
        "burst": 120,
        "max_concurrent": 8,
        "daily_limit_nusd": NUSD_PER_USD // 2,
        "monthly_limit_nusd": 5 * NUSD_PER_USD,
        "total_limit_nusd": 4 * NUSD_PER_USD,
    }
    set_limits(first, limits=limits, actor=operator.email)
    set_call_limits(workspace, max_concurrent=40, actor=operator.email)
    make_model(LONG_MODEL, provider=Provider.objects.get(name="local"))
    for label in LONG_LABELS:
        make_key(workspace, label=label, allowed_models=[LONG_MODEL])
    names = [model.name for model in MODELS]
    office = ["203.0.113.0/24", "2001:db8:40::/48"]
    later = timezone.now() + timedelta(days=12)
    make_key(workspace, label="Invoice reader", allowed_models=names[:2], allowed_ips=office)
    make_key(workspace, label="Trainee, until the fair", allowed_models=names[:1], expires_at=later)
    revoke_key(make_key(workspace, label="First prototype").key, actor=operator.email)
    person = create_user(email=MEMBER_EMAIL, name="Noor Haddad", password=PASSWORD, actor=ACTOR)
    membership = Membership.objects.create(workspace=workspace, user=person, role=Role.DEVELOPER)
    _limit(membership, first, operator.email)
    _set_budgets(membership, first, operator.email)
    invite(workspace, email=INVITED_EMAIL, role=Role.VIEWER, actor=ACTOR)
    create_workspace(name="Zephyr Robotics", owner=person, actor=ACTOR)


def _set_budgets(membership: Membership, key: ApiKey, actor: str) -> None:
    """Set budgets of every holder, and raise some; the key has some already."""
    from django.utils import timezone

    from accounts.budgets import set_spending_limits, set_timezone
    from gateway.core.money import NUSD_PER_USD
    from keys.raises import raise_budget

    workspace = key.workspace
    set_timezone(workspace, timezone="Europe/Berlin", actor=actor)
    of_workspace = {"weekly_limit_nusd": 400 * NUSD_PER_USD, "monthly_limit_nusd": 1500 * 10**9}
    set_spending_limits(workspace, limits=of_workspace, actor=actor)
    set_spending_limits(membership, limits={"daily_limit_nusd": 5 * NUSD_PER_USD}, actor=actor)
    until = timezone.now() + timedelta(days=3)
    # The key's calls of today may cost more than its budget of a day, late in the day.
    for holder, period in ((membership, "day"), (key, "day"), (key, "total")):
        more_nusd = 2 * NUSD_PER_USD
        raise_budget(holder, period=period, amount_nusd=more_nusd, until=until, actor=actor)


def _limit(membership: Membership, key: ApiKey, actor: str) -> None:
    """Set limits of every level and kind."""
    from gateway.core.money import NUSD_PER_USD
    from keys.limit_rules import (
        add_limit_rule,
        for_each_key,
        for_each_member,
        for_installation,
        for_key,
        for_member,
        for_model,
        for_workspace,
    )

    workspace = key.workspace
    per_day = {"metric": "tokens", "maximum": 2_000_000, "period": "day"}
    rules: list[tuple[RuleHolder, dict[str, object]]] = [
        (for_installation(), per_day | {"maximum": 50_000_000, "algorithm": "fixed_window"}),
        (for_model(LONG_MODEL), {"metric": "concurrent_requests", "maximum": 4}),
        (for_workspace(workspace), per_day | {"only_models": [LONG_MODEL], "label": "Trial"}),
        (
            for_each_member(workspace),
            {"metric": "cost_micro_usd", "maximum": 5 * NUSD_PER_USD, "period": "month"},
        ),
        (for_member(membership), per_day | {"is_enabled": False}),
        (
            for_each_key(workspace),
            {"metric": "completion_tokens", "maximum": 8_000, "per_request": True},
        ),
        (
            for_key(key),
            {
                "metric": "requests",
                "maximum": 600,
                "period": "hour",
                "algorithm": "token_bucket",
                "burst": 1_200,
            },
        ),
    ]
    for holder, values in rules:
        fields: Arguments = values
        add_limit_rule(holder, actor=actor, **fields)


def _add(model: DemoModel) -> None:
    """Add a model with its provider; the cheapest runs here, and one can less than the others."""
    from gateway.models import Provider
    from tests.factories import make_model, make_provider

    is_local = model.provider == "local"
    kind = "vllm" if is_local else model.provider
    provider = Provider.objects.filter(name=model.provider).first() or make_provider(
        model.provider,
        kind=kind,
        base_url="http://127.0.0.1:1/v1" if is_local else "",
        credential=None if is_local else "sk-nobody-knows",
        is_local=is_local,
    )
    make_model(
        model.name,
        provider=provider,
        native_model=model.native,
        input_pusd=model.price.input_pusd,
        cached_input_pusd=model.price.cached_input_pusd,
        output_pusd=model.price.output_pusd,
        context_tokens=8_192 if is_local else 131_072,
        max_output_tokens=2_048 if is_local else 16_384,
        supports_tools=True,
        supports_vision=False if is_local else None,
        supports_audio=False,
        default_params={"repetition_penalty": 1.1} if is_local else {},
        template_render_mode="vars" if model.name == PROMPTED else "off",
        default_system_prompt=PROMPT if model.name == PROMPTED else "",
    )


if __name__ == "__main__":
    main()
