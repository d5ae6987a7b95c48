"""Every form says everything that is wrong at once, whether it is the format of a field, its range
or what it has to do with another."""

from __future__ import annotations

from typing import Any

import pytest

from accounts.models import AuditEvent, Workspace
from dashboard.forms.submit_once import new_form_token
from gateway.models import Provider
from keys.access import set_access_rules
from keys.models import LimitRule
from keys.services import set_developer_key_policy, set_limits
from tests.dashboard.visitors import Visitor, key_form, path_of, seen_on, signed_in
from tests.factories import (
    ACTOR,
    make_key,
    make_member,
    make_model,
    make_provider,
    make_user,
    make_workspace,
)

pytestmark = pytest.mark.django_db

LIMITS = {
    "max_requests_per_minute": "many",
    "burst": "5",
    "max_concurrent": "0",
    "daily_limit_nusd": "1,50",
    "weekly_limit_nusd": "0",
}
WRONG_LIMITS = set(LIMITS) - {"burst"}  # it depends on what cannot be read
RULES = {
    "models_mode": "some",
    "allowed_patterns": "two names",
    "ips_mode": "some",
    "allowed_ips": "0.0.0.0/0",
}
DENIED = {"denied_models": "*", "denied_ips": "somewhere"}
KEY = {"label": "a\x01", "expires": "on", "expires_at": "2020-01-01T00:00"}


@pytest.fixture
def workspace() -> Workspace:
    return make_workspace()


@pytest.fixture
def admin(workspace: Workspace) -> Visitor:
    return signed_in(make_member(workspace, "admin"))


@pytest.fixture
def operator(workspace: Workspace) -> Visitor:
    return signed_in(make_user(is_operator=True))


def errors_of(visitor: Visitor, path: str, sent: dict[str, Any], form: str = "form") -> set[str]:
    before = AuditEvent.objects.count()
    answer = visitor.post(path, sent)
    assert answer.status_code == 422
    assert AuditEvent.objects.count() == before
    return set(answer.context[form].errors)


@pytest.mark.parametrize(
    ("path", "sent", "wrong"),
    [
        (
            "/keys/new",
            key_form(**KEY, **RULES, **DENIED, **LIMITS, scopes=[]),
            {"label", "expires_at", "allowed_models", "allowed_ips", *DENIED, *WRONG_LIMITS}
            | {"scopes"},
        ),
        (
            "/keys/new",
            key_form(secret_mode="imported", secret="sk-1234", **KEY, daily_limit_nusd="0"),
            {"label", "expires_at", "daily_limit_nusd", "secret"},
        ),
        (
            "/settings/access-rules",
            {**RULES, **DENIED, "max_key_days": "x", "allowed_hosts": "a b"}
            | {"denied_user_agents": "*", "allowed_countries": "Mars"},
            {"allowed_models", "allowed_ips", *DENIED, "max_key_days", "allowed_hosts"}
            | {"denied_user_agents", "allowed_countries"},
        ),
        (
            "/settings/developer-keys",
            {**RULES, **LIMITS, "max_keys": "0"},
            {"allowed_models", "allowed_ips", "max_keys", "scopes", *WRONG_LIMITS},
        ),
        (
            "/limits/new",
            {"holder": "", "metric": LimitRule.Metric.COST.value, "maximum": "1,50", "burst": "0"}
            | {"only_models": "two names", "label": "a\x01", "algorithm": "token_bucket"},
            {"maximum", "burst", "only_models", "label", "holder"},
        ),
    ],
)
def test_forms_of_keys_and_rules(
    admin: Visitor, path: str, sent: dict[str, Any], wrong: set[str]
) -> None:
    assert errors_of(admin, path, sent) == wrong


def test_the_forms_of_a_workspaces_limits_and_budgets(admin: Visitor) -> None:
    limits = {name: LIMITS[name] for name in ("max_requests_per_minute", "burst", "max_concurrent")}
    budgets = {"daily_limit_nusd": "1,50", "weekly_limit_nusd": "0", "timezone": "Mars"}

    wrong = errors_of(admin, "/settings/limits", limits, "limits_form")

    assert wrong == set(limits) - {"burst"}
    assert errors_of(admin, "/limits/budget", budgets) == set(budgets)


def test_the_form_that_raises_a_budget(admin: Visitor, workspace: Workspace) -> None:
    Workspace.objects.filter(pk=workspace.pk).update(daily_limit_nusd=1)
    wish = {"do": "raise", "period": "day"}

    for sent in ({"amount_nusd": "1,50"}, {"amount_nusd": "0"}, {"amount_nusd": ""}):
        wrong = errors_of(admin, "/limits/budget", wish | sent, "raise_form")
        assert wrong == {"amount_nusd", "until"}


def test_the_key_there_is(admin: Visitor, workspace: Workspace) -> None:
    page = path_of("key-edit", make_key(workspace).key.pk)
    seen = seen_on(admin, page)

    wrong = errors_of(admin, page, key_form(**KEY, **LIMITS, **seen))

    assert wrong == {"label", "expires_at", *WRONG_LIMITS}


@pytest.mark.parametrize(
    ("sent", "wrong"),
    [
        (
            {"name": "two words", "aliases": "a,a", "fallbacks": "nobody", "input_usd": "1000001"}
            | {"display_name": "a\x01", "default_params": '{"model": "x"}', "image_usd": "1000001"},
            {"name", "aliases", "fallbacks", "input_usd", "display_name", "default_params"}
            | {"image_usd"},
        ),
        (
            {"input_usd": "x", "context_tokens": "9999999999", "default_params": '{"model": "x"}'}
            | {"template_render_mode": "logic", "default_system_prompt": "{{"},
            {"input_usd", "context_tokens", "default_params", "default_system_prompt"},
        ),
        (
            {"input_usd": "x", "name": "two words", "aliases": "a,a", "fallbacks": "nobody"}
            | {"output_usd": "1000001", "image_usd": "1000001", "display_name": "a\x01"},
            {"input_usd", "name", "aliases", "fallbacks", "output_usd", "image_usd"}
            | {"display_name"},
        ),
    ],
)
def test_the_form_of_a_model(operator: Visitor, sent: dict[str, str], wrong: set[str]) -> None:
    provider = make_provider("up")
    right = {"name": "m", "provider": provider.name, "input_usd": "1", "output_usd": "1"}
    right |= {"max_output_tokens": "10", "unknown_fields": "forward", "template_render_mode": "off"}

    assert errors_of(operator, "/models/new", right | sent) == wrong


def test_the_form_of_the_model_there_is(operator: Visitor) -> None:
    make_model("other", aliases=["taken"])
    page = path_of("model-edit", make_model("m").pk)
    sent = {"input_usd": "x", "output_usd": "1000001", "aliases": "taken", "max_output_tokens": "1"}
    sent |= {"unknown_fields": "forward", "template_render_mode": "off"} | seen_on(operator, page)

    wrong = errors_of(operator, page, sent)

    assert wrong == {"input_usd", "output_usd", "aliases"}


def test_the_form_of_a_developers_key(workspace: Workspace) -> None:
    set_developer_key_policy(
        workspace,
        max_keys=None,
        scopes=["usage"],
        allowed_models=["gpt-*"],
        allowed_ips=["10.0.0.0/8"],
        limits={"max_requests_per_minute": 10},
        allows_chat_template=False,
        actor=ACTOR,
    )
    developer = signed_in(make_member(workspace, "developer"))
    beyond = {"max_requests_per_minute": "11", "allows_chat_template": "on", "scopes": ["usage"]}

    wide = errors_of(developer, "/keys/new", key_form(**beyond, daily_limit_nusd="1,50"))
    unread = {**beyond, **RULES, "max_requests_per_minute": "many"}
    malformed = errors_of(developer, "/keys/new", key_form(**unread))

    assert wide == {"max_requests_per_minute", "allows_chat_template", "daily_limit_nusd"} | {
        "allowed_models",
        "allowed_ips",
    }
    assert malformed == {"max_requests_per_minute", "allows_chat_template"} | {
        "allowed_models",
        "allowed_ips",
    }


def test_the_lifetime_of_a_key(admin: Visitor, workspace: Workspace) -> None:
    set_access_rules(workspace, max_key_days=30, actor=ACTOR)

    wrong = errors_of(admin, "/keys/new", key_form(expires="90d", daily_limit_nusd="1,50"))

    assert wrong == {"expires_at", "daily_limit_nusd"}


@pytest.mark.parametrize("path", ["new", "edit"])
def test_the_form_of_a_provider_with_a_field_that_is_too_long(operator: Visitor, path: str) -> None:
    provider = make_provider("up", kind="vllm", base_url="http://10.0.0.5/v1")
    page = "/providers/new" if path == "new" else f"/providers/{provider.pk}"
    sent = {"base_url": "ftp://up", "proxy_url": "x" * 3000, "location": "a\x01"}
    sent |= {"ca_certificate": "none", "client_certificate": "none"}
    new = {"kind": "vllm", "name": "two words"} if path == "new" else seen_on(operator, page)

    wrong = errors_of(operator, page, sent | new)

    assert wrong == set(sent) | ({"name"} if path == "new" else set())


def test_the_form_of_a_provider(operator: Visitor) -> None:
    provider = make_provider("up", kind="vllm", base_url="http://10.0.0.5/v1")
    page = f"/providers/{provider.pk}"
    sent = {"base_url": "ftp://up", "proxy_url": "ftp://up", "location": "a\x01"}

    wrong = errors_of(operator, page, sent | seen_on(operator, page))

    assert wrong == set(sent)
    assert Provider.objects.get().base_url == "http://10.0.0.5/v1"


@pytest.mark.parametrize("path", ["/settings/mcp-servers/new", "/processors/services/new"])
@pytest.mark.parametrize("name", ["two words", "x" * 61, ""])
def test_the_forms_of_services_of_a_workspace(admin: Visitor, path: str, name: str) -> None:
    sent = {"name": name, "url": "ftp://up", "credential": "é", "kind": "presidio"}

    assert errors_of(admin, path, sent) == {"name", "url", "credential"}


def test_the_form_of_a_tool(operator: Visitor) -> None:
    sent = {"price_nusd": "-1", "base_url": "ftp://up", "documents": "["}

    assert errors_of(operator, "/tools/web_search", sent) == set(sent)


@pytest.mark.parametrize("owner", ["nobody", ""])
def test_the_form_of_a_workspace(operator: Visitor, owner: str) -> None:
    sent = {"name": "a\x01", "credit": "-1", "owner": owner, "token": new_form_token()}

    wrong = errors_of(operator, "/workspaces/new", sent)

    assert wrong == {"name", "credit"} | ({"owner"} if owner else set())


def test_the_price_of_an_mcp_server(operator: Visitor, workspace: Workspace) -> None:
    sent = {"name": "two words", "url": "ftp://up", "header": "cookie", "price_nusd": "1,50"}

    assert errors_of(operator, f"/w/{workspace.slug}/settings/mcp-servers/new", sent) == set(sent)


@pytest.mark.parametrize("rest", [{"location": "eu"}, {"location": "x" * 61}])
def test_the_secrets_of_a_new_provider(operator: Visitor, rest: dict[str, str]) -> None:
    sent = {"credential": "two words", "proxy_credential": "no-colon", "client_key": "none"}
    other = {"proxy_url": "ftp://up", "client_certificate": "none", "name": "two words"}

    wrong = errors_of(operator, "/providers/new", sent | other | rest | {"kind": "openai"})

    assert wrong == set(sent) | set(other) | ({"location"} if len(rest["location"]) > 60 else set())


def test_what_a_new_provider_lacks(operator: Visitor) -> None:
    sent = {"kind": "azure_openai", "name": "two words", "proxy_credential": "name:password"}
    setting = {"setting_api_version": "x" * 9}

    wrong = errors_of(operator, "/providers/new", sent | setting)

    assert wrong >= {"name", "credential", "proxy_credential"}


def test_the_credential_of_a_provider_there_is(operator: Visitor) -> None:
    provider = make_provider("up", kind="openai", credential="sk-0123456789")
    page = f"/providers/{provider.pk}"
    sent = {"credential": "two words", "proxy_credential": "a:b", "location": "a\x01"}

    assert errors_of(operator, page, sent | seen_on(operator, page)) == set(sent)


@pytest.mark.parametrize("weight", ["0", "1"])
def test_the_form_of_a_credential(operator: Visitor, weight: str) -> None:
    provider = make_provider("up", kind="openai", credential="sk-0123456789")
    sent = {"name": "two words", "credential": "a b", "weight": weight, "enabled": "on"}
    page = f"/providers/{provider.pk}/credentials/new"
    wrong = {"name", "credential"} | ({"weight"} if weight == "0" else set())

    assert errors_of(operator, page, sent) == wrong


def test_the_provider_model_id_of_a_new_model(operator: Visitor) -> None:
    make_provider("up")
    sent = {"name": "m", "provider": "up", "native_model": "a\x01", "output_usd": "1"}
    sent |= {"max_output_tokens": "10", "unknown_fields": "forward", "template_render_mode": "off"}

    malformed = errors_of(operator, "/models/new", sent | {"input_usd": "x"})
    wide = errors_of(operator, "/models/new", sent | {"input_usd": "1", "aliases": "a,a"})

    assert malformed == {"input_usd", "native_model"}
    assert wide == {"aliases", "native_model"}


def test_a_key_that_a_developer_edits(workspace: Workspace) -> None:
    member = make_member(workspace, "developer")
    developer = signed_in(member)
    key = make_key(workspace, created_by=member).key
    set_limits(key, limits={"max_requests_per_minute": 10}, actor=ACTOR)
    page = path_of("key-edit", key.pk)
    wider = {"max_requests_per_minute": "11", "daily_limit_nusd": "1,50"}

    wrong = errors_of(developer, page, key_form(**wider, **seen_on(developer, page)))

    assert wrong == {"max_requests_per_minute", "daily_limit_nusd"}
