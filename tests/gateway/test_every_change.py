"""Every order that somebody can give leaves one line for the audit, and tells who must hear.

The orders are found by their `actor`: a new one is missing from the table until it is added.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from types import ModuleType
from typing import Any

import pytest
from django.test import override_settings

from accounts import invitations, ledger, services
from accounts.models import AuditEvent, ConfigChange, LedgerEntry
from gateway.models import McpServer
from gateway.services import (
    credential_encryption,
    factor_encryption,
    mcp_servers,
    models,
    provider_connections,
    provider_credentials,
    providers,
    tool_settings,
)
from keys import access, limit_rules, memberships, rotation
from keys import services as key_services
from tests.factories import make_key, make_model, make_provider, make_user, make_workspace
from tests.support.mcp_server import TOKEN, running_mcp_server

pytestmark = pytest.mark.django_db

WHO = "boss@example.com"
MODULES: tuple[ModuleType, ...] = (
    *(
        ledger,
        services,
        invitations,
        key_services,
        access,
        limit_rules,
        rotation,
        memberships,
        models,
        providers,
        provider_connections,
        provider_credentials,
        tool_settings,
        mcp_servers,
        credential_encryption,
        factor_encryption,
    ),
)
PRICES = {"input_pusd": 5, "output_pusd": 6}
RULES: dict[str, Any] = {
    "scopes": ["usage"],
    "allowed_models": [],
    "denied_models": [],
    "allowed_ips": None,
    "denied_ips": [],
    "expires_at": None,
}
MCP_SERVER: dict[str, Any] = {"name": "weather", "url": "https://mcp.example/mcp"}
# The order: what starts it, and the kind of change that server processes hear of.
Start = Callable[[], Callable[[], object]]


def _add_member() -> Callable[[], object]:
    workspace, user = make_workspace(), make_user()
    return lambda: services.add_member(workspace, user=user, role="viewer", actor=WHO)


def _set_password() -> Callable[[], object]:
    user = make_user()
    return lambda: services.set_password(user, password="another long phrase 28", actor=WHO)


def _rename_user() -> Callable[[], object]:
    user = make_user()
    return lambda: services.rename_user(user, name="Ada", actor=WHO)


def _change_role() -> Callable[[], object]:
    workspace, user = make_workspace(), make_user()
    member = services.add_member(workspace, user=user, role="viewer", actor="before")
    return lambda: services.change_role(member, role="admin", actor=WHO)


def _remove_member() -> Callable[[], object]:
    member = services.add_member(make_workspace(), user=make_user(), role="viewer", actor="before")
    return lambda: services.remove_member(member, actor=WHO)


def _end_membership() -> Callable[[], object]:
    member = services.add_member(make_workspace(), user=make_user(), role="viewer", actor="before")
    return lambda: memberships.end_membership(member, keeps_keys=False, actor=WHO)


def _withdraw() -> Callable[[], object]:
    workspace = make_workspace()
    made = invitations.invite(workspace, email="bo@example.com", role="viewer", actor="before")
    return lambda: invitations.withdraw(made.invitation, actor=WHO)


def _set_developer_key_policy() -> Callable[[], object]:
    workspace = make_workspace()
    free: dict[str, Any] = {"scopes": None, "allowed_models": [], "allowed_ips": None, "limits": {}}
    return lambda: key_services.set_developer_key_policy(
        workspace, max_keys=3, allows_chat_template=True, actor=WHO, **free
    )


def _disown() -> Callable[[], object]:
    key = make_key(make_workspace(), created_by=make_user(is_operator=True)).key
    return lambda: key_services.disown_key(key, actor=WHO)


LIMIT: dict[str, Any] = {"metric": "requests", "maximum": 5, "period": "minute"}
CHANGED_LIMIT: dict[str, Any] = {
    "maximum": 6,
    "burst": None,
    "only_models": [],
    "label": "",
    "is_enabled": True,
}


def _add_limit_rule() -> Callable[[], object]:
    key = make_key(make_workspace()).key
    return lambda: limit_rules.add_limit_rule(limit_rules.for_key(key), actor=WHO, **LIMIT)


def _change_limit_rule() -> Callable[[], object]:
    holder = limit_rules.for_workspace(make_workspace())
    rule = limit_rules.add_limit_rule(holder, actor="before", **LIMIT)
    return lambda: limit_rules.change_limit_rule(rule, actor=WHO, **CHANGED_LIMIT)


def _remove_limit_rule() -> Callable[[], object]:
    holder = limit_rules.for_installation()
    rule = limit_rules.add_limit_rule(holder, actor="before", **LIMIT)
    return lambda: limit_rules.remove_limit_rule(rule, actor=WHO)


def _unlock() -> Callable[[], object]:
    workspace = make_workspace()
    services.lock_workspace(workspace, reason="unpaid", actor="before")
    return lambda: services.unlock_workspace(workspace, actor=WHO)


def _on_workspace(order: Callable[..., object], **fields: Any) -> Start:
    def start() -> Callable[[], object]:
        workspace = make_workspace()
        return lambda: order(workspace, actor=WHO, **fields)

    return start


def _on_key(order: Callable[..., object], **fields: Any) -> Start:
    def start() -> Callable[[], object]:
        key = make_key(make_workspace()).key
        return lambda: order(key, actor=WHO, **fields)

    return start


def _on_provider(order: Callable[..., object], **fields: Any) -> Start:
    def start() -> Callable[[], object]:
        provider = make_provider(kind="openai", credential="sk-1")
        return lambda: order(provider, actor=WHO, **fields)

    return start


def _on_credential(order: Callable[..., object]) -> Start:
    def start() -> Callable[[], object]:
        provider = make_provider(kind="openai", credential="sk-1")
        row = provider_credentials.add_credential(
            provider, name="second", credential="sk-2", actor=WHO
        )
        is_change = order is provider_credentials.update_credential
        return lambda: order(row, actor=WHO, **({"weight": 5} if is_change else {}))

    return start


def _on_model(order: Callable[..., object], **fields: Any) -> Start:
    def start() -> Callable[[], object]:
        model = make_model()
        return lambda: order(model, actor=WHO, **fields)

    return start


def _issue() -> Callable[[], object]:
    workspace = make_workspace()
    return lambda: key_services.issue_key(workspace=workspace, label="x", actor=WHO)


def _add_model() -> Callable[[], object]:
    provider = make_provider()
    fields: dict[str, Any] = {"name": "m", "provider": provider, "max_output_tokens": 1, **PRICES}
    return lambda: models.add_model(actor=WHO, **fields)


def _add_target() -> Callable[[], object]:
    model, provider = make_model(), make_provider()
    return lambda: models.add_target(model, provider=provider, native_model="n", actor=WHO)


def _on_mcp_server(order: Callable[..., object], **fields: Any) -> Start:
    def start() -> Callable[[], object]:
        workspace = make_workspace()
        row = mcp_servers.add_mcp_server(workspace, actor="before", **MCP_SERVER)
        return lambda: order(row, actor=WHO, **fields)

    return start


def _list_mcp_tools() -> Callable[[], object]:
    row = mcp_servers.add_mcp_server(
        make_workspace(), credential=f"Bearer {TOKEN}", actor="before", **MCP_SERVER
    )

    def order() -> None:
        here = override_settings(FETCH_ALLOWED_NETWORKS=["127.0.0.1/32"])
        with running_mcp_server() as url, here:
            McpServer.objects.filter(pk=row.pk).update(url=url)
            row.refresh_from_db()
            mcp_servers.list_mcp_tools(row, actor=WHO)

    return order


ORDERS: dict[str, tuple[Start, str]] = {
    "grant": (_on_workspace(ledger.grant, amount_nusd=5, reason="gift"), "wallet"),
    "create_workspace": (
        lambda: lambda: services.create_workspace(name="Acme", actor=WHO),
        "",
    ),
    "create_user": (lambda: lambda: services.create_user(email="a@example.com", actor=WHO), ""),
    "set_password": (_set_password, ""),
    "rename_user": (_rename_user, ""),
    "add_member": (_add_member, "workspace"),
    "change_role": (_change_role, "workspace"),
    "remove_member": (_remove_member, "workspace"),
    "invite": (_on_workspace(invitations.invite, email="bo@example.com", role="viewer"), ""),
    "withdraw": (_withdraw, ""),
    "end_membership": (_end_membership, "workspace"),
    "rename_workspace": (_on_workspace(services.rename_workspace, name="New"), "workspace"),
    "lock_workspace": (_on_workspace(services.lock_workspace, reason="unpaid"), "workspace"),
    "unlock_workspace": (_unlock, "workspace"),
    "set_stores_bodies": (
        _on_workspace(services.set_stores_bodies, stores_bodies=True),
        "workspace",
    ),
    "set_profile": (_on_workspace(services.set_profile, compat_profile="bud"), "workspace"),
    "set_call_limits": (
        _on_workspace(services.set_call_limits, max_concurrent=5),
        "workspace",
    ),
    "set_access_rules": (
        _on_workspace(access.set_access_rules, denied_models=["gpt-*"]),
        "workspace",
    ),
    "add_limit_rule": (_add_limit_rule, "key"),
    "change_limit_rule": (_change_limit_rule, "workspace"),
    "remove_limit_rule": (_remove_limit_rule, "catalogue"),
    "issue_key": (_issue, "key"),
    "set_developer_key_policy": (_set_developer_key_policy, ""),
    "set_limits": (_on_key(key_services.set_limits, limits={"max_concurrent": 5}), "key"),
    "reset_total": (_on_key(key_services.reset_total, spent_nusd=5), "key"),
    "update_key": (_on_key(key_services.update_key, label="New", **RULES), "key"),
    "set_compatibility": (
        _on_key(key_services.set_compatibility, compat_profile="bud"),
        "key",
    ),
    "disown_key": (_disown, "key budget"),
    "rotate_key": (_on_key(rotation.rotate_key, overlap=timedelta(hours=1)), "key"),
    "revoke_key": (_on_key(key_services.revoke_key), "key"),
    "add_provider": (
        lambda: lambda: providers.add_provider(name="up", kind="simulated", actor=WHO),
        "catalogue",
    ),
    "set_credential": (_on_provider(providers.set_credential, credential="sk-2"), "catalogue"),
    "add_credential": (
        _on_provider(provider_credentials.add_credential, name="second", credential="sk-2"),
        "catalogue",
    ),
    "update_credential": (_on_credential(provider_credentials.update_credential), "catalogue"),
    "remove_credential": (_on_credential(provider_credentials.remove_credential), "catalogue"),
    "set_base_url": (
        _on_provider(providers.set_base_url, base_url="https://eu.example", credential="sk-2"),
        "catalogue",
    ),
    "set_access": (
        _on_provider(providers.set_access, base_url=None, credential="sk-2"),
        "catalogue",
    ),
    "set_connection": (
        _on_provider(provider_connections.set_connection, proxy_url="http://proxy.example:3128"),
        "catalogue",
    ),
    "update_provider": (_on_provider(providers.update_provider, location="Paris"), "catalogue"),
    "set_provider_enabled": (
        _on_provider(providers.set_provider_enabled, enabled=False),
        "catalogue",
    ),
    "add_model": (_add_model, "catalogue"),
    "add_target": (_add_target, "catalogue"),
    "update_model": (_on_model(models.update_model, supports_vision=True), "catalogue"),
    "set_prices": (_on_model(models.set_prices, may_jump=True, **PRICES), "catalogue"),
    "set_model_enabled": (_on_model(models.set_model_enabled, enabled=False), "catalogue"),
    "add_mcp_server": (_on_workspace(mcp_servers.add_mcp_server, **MCP_SERVER), "tools"),
    "update_mcp_server": (_on_mcp_server(mcp_servers.update_mcp_server, enabled=False), "tools"),
    "remove_mcp_server": (_on_mcp_server(mcp_servers.remove_mcp_server), "tools"),
    "list_mcp_tools": (_list_mcp_tools, "tools"),
    "set_tool": (
        lambda: partial(tool_settings.set_tool, "web_fetch", price_nusd=1, actor=WHO),
        "tools",
    ),
}
# post is the ledger's own entry: the orders that use it write their line themselves. Resealing
# changes nothing that anybody hears of, and needs other settings: test_credential_encryption.
ELSEWHERE = {"post", "reencrypt_all", "reencrypt_factors", "record_audit"}


def orders_in(module: ModuleType) -> set[str]:
    return {
        name
        for name, thing in inspect.getmembers(module, inspect.isfunction)
        if not name.startswith("_") and "actor" in inspect.signature(thing).parameters
    }


def test_the_table_names_every_order_there_is() -> None:
    found = set().union(*(orders_in(module) for module in MODULES))

    assert found - ELSEWHERE == set(ORDERS)


@pytest.mark.parametrize("name", ORDERS)
def test_an_order_leaves_one_line_for_the_audit_and_tells_who_must_hear(name: str) -> None:
    start, kind = ORDERS[name]
    order = start()
    ConfigChange.objects.all().delete()
    AuditEvent.objects.all().delete()

    order()

    [event] = AuditEvent.objects.all()
    assert event.actor == WHO
    assert event.target
    assert " ".join(ConfigChange.objects.values_list("kind", flat=True)) == kind


def test_a_ledger_entry_by_hand_names_who_did_it() -> None:
    ledger.grant(make_workspace(), amount_nusd=5, actor=WHO, reason="gift")

    assert LedgerEntry.objects.get().actor == WHO
