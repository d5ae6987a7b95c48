"""The audit log in words: what was done, and what it changed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime

from accounts.models import AuditEvent
from dashboard.templatetags.money import usd
from dashboard.templatetags.timespan import exact
from gateway.core.money import format_usd_per_mtok

SHOWN_CHARS = 60
_DONE = {
    "workspace.create": "Created",
    "workspace.rename": "Renamed",
    "workspace.lock": "Locked",
    "workspace.unlock": "Unlocked",
    "workspace.set_stores_bodies": "Request logging changed",
    "processor.require": "Processor made mandatory",
    "processor.change": "Mandatory processor changed",
    "processor.release": "Processor no longer mandatory",
    "processor_service.add": "Service for processors added",
    "processor_service.update": "Service for processors changed",
    "processor_service.remove": "Service for processors removed",
    "workspace.set_profile": "Compatibility profile changed",
    "workspace.set_limits": "Limits changed",
    "workspace.set_access_rules": "Access rules changed",
    "workspace.add_mcp_server": "MCP server added",
    "workspace.update_mcp_server": "MCP server changed",
    "workspace.remove_mcp_server": "MCP server removed",
    "workspace.list_mcp_tools": "Tools of the MCP server changed",
    "workspace.set_developer_key_policy": "Developer key limits changed",
    "user.create": "Account created",
    "user.rename": "Name changed",
    "user.set_password": "Password reset",
    "user.reseal_factors": "Second factors re-encrypted",
    "member.add": "Added",
    "member.change_role": "Role changed",
    "member.remove": "Removed",
    "invitation.create": "Invited",
    "invitation.withdraw": "Invitation revoked",
    "workspace.set_budget": "Budgets changed",
    "workspace.reset_total": "Total reset",
    "workspace.set_timezone": "Time zone changed",
    "workspace.raise_budget": "Budget raised",
    "workspace.end_raise": "Raise ended",
    "member.raise_budget": "Budget raised",
    "member.end_raise": "Raise ended",
    "key.raise_budget": "Budget raised",
    "key.end_raise": "Raise ended",
    "member.set_budget": "Budgets changed",
    "member.reset_total": "Total reset",
    "key.issue": "Created",
    "key.import": "Imported",
    "key.rotate": "Rotated",
    "key.revoke": "Revoked",
    "key.refuse": "Calls refused until midnight UTC",
    "key.compatibility": "Compatibility changed",
    "key.limits": "Limits changed",
    "key.disown": "Transferred to the workspace",
    "key.reset_total": "Total reset",
    **{
        f"{noun}.{verb}": words
        for noun in ("installation", "model", "workspace", "member", "key")
        for verb, words in {
            "add_limit": "Limit added",
            "change_limit": "Limit changed",
            "remove_limit": "Limit removed",
        }.items()
    },
    "batch.cancel": "Cancelled",
    "file.upload": "Uploaded",
    "file.delete": "Deleted",
    "storage.limits": "Storage limits changed",
    "price_list.import": "Prices imported",
    "credits.topup": "Topped up",
    "credits.grant": "Granted",
    "credits.adjustment": "Adjusted",
    "credits.refund": "Refunded",
    "model.add": "Added",
    "model.add_target": "Target added",
    "model.set_prices": "Prices changed",
    "model.enable": "Enabled",
    "model.disable": "Disabled",
    "provider.add": "Added",
    "provider.enable": "Enabled",
    "provider.disable": "Disabled",
    "provider.set_credential": "Credential replaced",
    "provider.add_credential": "Credential added",
    "provider.update_credential": "Credential changed",
    "provider.remove_credential": "Credential removed",
    "provider.set_base_url": "Base URL changed",
    "provider.set_connection": "Connection changed",
    "provider.test_call": "Tested with a call",
    "tool.update": "Tool changed",
    "tool.test": "Tool tested",
    "provider.reseal": "Credentials re-encrypted",
    "journal.adopt": "Journal adopted",
    "journal.declare_lost": "Journal declared lost",
}
# What a thing began with says little that its page does not.
_BEGINNINGS = {
    "key.issue",
    "key.import",
    "model.add",
    "provider.add",
    "workspace.create",
    "user.create",
}
# Fields that forms call by another name.
_CALLED = {
    "max_requests_per_minute": "requests per minute",
    "max_concurrent": "concurrent requests",
    "daily_limit_nusd": "daily budget",
    "weekly_limit_nusd": "weekly budget",
    "monthly_limit_nusd": "monthly budget",
    "total_limit_nusd": "total budget",
    "default_system_prompt": "default system prompt",
    "template_render_mode": "template variables",
    "context_tokens": "context window",
    "native_model": "provider model ID",
    "fallbacks": "fallback models",
    "unknown_fields": "unknown parameters",
    "base_url": "base URL",
    "operation": "used for",
    "allows_passthrough": "calls by provider name",
    "is_local": "on-premises",
    "owned_by": "publisher",
    "aliases": "aliases",
    "allowed_models": "models",
    "allowed_ips": "allowed IPs",
    "denied_ips": "denied IPs",
    "max_key_days": "maximum key lifetime (days)",
    "capped_keys": "keys that expire earlier",
    "denied_user_agents": "blocked user agents",
    "allowed_hosts": "hosts of fetched URLs",
    "allowed_tools": "allowed tools",
    "by_default": "use in all calls",
    "denied_hosts": "denied hosts of fetched URLs",
    "expires_at": "expiry",
    "compat_profile": "profile",
    "stores_bodies": "request logging",
    "only_models": "models",
    "is_enabled": "enabled",
    "timezone": "time zone",
    "filename": "name",
    "size_bytes": "size (bytes)",
    "max_file_bytes": "maximum file size (bytes)",
    "max_files": "maximum number of files",
    "max_storage_bytes": "maximum total size (bytes)",
    "hint": "end of the credential",
}
# Fields where a missing value stands for all there are, and those where an empty list does.
_ALL_IF_MISSING = frozenset(("allowed_ips", "scopes"))
_ALL_IF_EMPTY = frozenset(
    ("allowed_models", "only_models", "allowed_hosts", "allowed_countries", "allowed_tools")
)
# Fields with a moment, in ISO 8601.
_MOMENTS = frozenset(("until", "expires_at", "old_secret_until"))
_UNITS = ("_nusd", "_pusd", "_per_token")


def words_of(event: AuditEvent) -> str:
    """Return what was done, without what to: that is said beside it."""
    if event.action.endswith(".update"):
        return f"Changed {', '.join(sorted(map(_called, event.details))) or 'nothing'}"
    return _DONE.get(event.action, event.action)


def changes_of(event: AuditEvent) -> str:
    """Return what is different since, such as `role: viewer → admin`; empty for a beginning."""
    if event.action in _BEGINNINGS:
        return ""
    return "; ".join(_changes(event.details))


def _changes(details: dict[str, object]) -> Iterator[str]:
    for name, value in details.items():
        if name == "hint" and not value:
            continue  # of a short credential, or where there is none
        if isinstance(value, list) and len(value) == 2:
            yield f"{_called(name)}: {_shown(name, value[0])} → {_shown(name, value[1])}"
        else:
            yield f"{_called(name)}: {_shown(name, value)}"


def _called(field: str) -> str:
    words = field.removeprefix("supports_")
    for unit in _UNITS:
        words = words.removesuffix(unit)
    return _CALLED.get(field) or words.replace("_", " ")


def _shown(name: str, value: object) -> str:
    if (value is None and name in _ALL_IF_MISSING) or (not value and name in _ALL_IF_EMPTY):
        return "all"
    if value is None or value == "" or value == []:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int) and name.endswith("_nusd"):
        return usd(value)
    if isinstance(value, int) and "_pusd" in name:
        return f"${format_usd_per_mtok(value)} per million tokens"
    if isinstance(value, list):
        text = ", ".join(map(str, value))
    else:
        text = _written(name, value) if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= SHOWN_CHARS else f"{text[:SHOWN_CHARS]}…"


def _written(name: str, text: str) -> str:
    if name not in _MOMENTS:
        return text
    try:
        return exact(datetime.fromisoformat(text))
    except ValueError:
        return text
