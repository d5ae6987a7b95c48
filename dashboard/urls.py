"""Every page, one block each. Names are used as `dashboard:<name>`.

Those of a workspace are under /w/<its slug>: in templates `url` knows which, in Python
dashboard.http.page_urls.page_address does.
"""

from __future__ import annotations

from django.urls import URLPattern, path

from dashboard.access_rules import views as access_rules
from dashboard.account import views as account
from dashboard.audit import views as audit
from dashboard.batches import views as batches
from dashboard.budgets import views as budgets
from dashboard.calls import views as calls
from dashboard.credits import views as credits
from dashboard.explain import views as explain
from dashboard.files import views as files
from dashboard.hosts import views as hosts
from dashboard.http.current_workspace import in_workspace
from dashboard.http.page_urls import SLUG
from dashboard.join import views as join
from dashboard.key_import import views as key_import
from dashboard.key_policy import views as key_policy
from dashboard.keys import rotation as key_rotation
from dashboard.keys import transfer as key_transfer
from dashboard.keys import views as keys
from dashboard.limits import views as limits
from dashboard.mcp import views as mcp
from dashboard.members import views as members
from dashboard.models import provider_models
from dashboard.models import views as models
from dashboard.overview import views as overview
from dashboard.price_list import views as price_list
from dashboard.processors import mandatory_views as mandatory
from dashboard.processors import service_views as services
from dashboard.processors import views as processors
from dashboard.providers import call_views as provider_call
from dashboard.providers import credential_views as credentials
from dashboard.providers import views as providers
from dashboard.reference import views as reference
from dashboard.settings import views as settings
from dashboard.shell import views as shell
from dashboard.tools import views as tools
from dashboard.workspaces import views as workspaces
from dashboard.workspaces.redirects import MovedPage

app_name = "dashboard"
_WORKSPACE = f"w/<slug:{SLUG}>"


def _of_workspace(page: URLPattern) -> URLPattern:
    route = f"{_WORKSPACE}/{page.pattern}".removesuffix("/")
    return path(route, in_workspace(page.callback), name=page.name)


def _moved(page: URLPattern) -> URLPattern:
    return path(str(page.pattern), MovedPage.as_view())


# What is of one workspace.
_PAGES = [
    # Overview
    path("", overview.show_overview, name="overview"),
    # Keys
    path("keys", keys.list_keys, name="key-list"),
    path("keys/new", keys.create_key, name="key-create"),
    path("keys/import", key_import.import_keys, name="key-import"),
    path("keys/import/<uuid:import_id>", key_import.confirm_import, name="key-import-confirm"),
    path("keys/<uuid:key_id>", keys.edit_key, name="key-edit"),
    path("keys/<uuid:key_id>/revoke", keys.revoke, name="key-revoke"),
    path("keys/<uuid:key_id>/rotate", key_rotation.rotate, name="key-rotate"),
    path("keys/<uuid:key_id>/transfer", key_transfer.transfer, name="key-transfer"),
    path("keys/<uuid:key_id>/reset-total", keys.reset_total, name="key-reset-total"),
    path("keys/<uuid:key_id>/budget", budgets.key_budget, name="key-budget"),
    # Calls
    path("calls", calls.list_calls, name="call-list"),
    path("calls.csv", calls.export_calls, name="call-export"),
    path("calls/<uuid:call_id>", calls.show_call, name="call-detail"),
    # Batches
    path("batches", batches.show_batches, name="batch-list"),
    path("batches/<uuid:batch_id>/cancel", batches.cancel, name="batch-cancel"),
    path("batches/<uuid:batch_id>/output", batches.download_output, name="batch-output"),
    path("batches/<uuid:batch_id>/errors", batches.download_errors, name="batch-errors"),
    # Files
    path("files", files.list_workspace_files, name="file-list"),
    path("files/upload", files.upload, name="file-upload"),
    path("files/limits", files.choose_limits, name="file-limits"),
    path("files/<slug:file_id>/content", files.download, name="file-content"),
    path("files/<slug:file_id>/delete", files.delete, name="file-delete"),
    # Credits
    path("credits", credits.show_credits, name="credits"),
    path("credits/grant", credits.grant_credits, name="credits-grant"),
    # Members
    path("members", members.list_members, name="member-list"),
    path("members/invite", members.invite, name="member-invite"),
    path("members/<int:membership_id>", members.choose_role, name="member-role"),
    path("members/<int:membership_id>/budget", budgets.member_budget, name="member-budget"),
    path("members/<int:membership_id>/remove", members.remove, name="member-remove"),
    path(
        "members/invitations/<uuid:invitation_id>/withdraw",
        members.withdraw_invitation,
        name="invitation-withdraw",
    ),
    # Limits
    path("limits", limits.list_limits, name="limit-list"),
    path("limits/budget", budgets.workspace_budget, name="settings-budget"),
    path("limits/new", limits.create_limit, name="limit-create"),
    path("limits/<uuid:rule_id>", limits.edit_limit, name="limit-edit"),
    path("limits/<uuid:rule_id>/remove", limits.remove_limit, name="limit-remove"),
    # Processors
    path("processors", processors.show_processors, name="processors"),
    path("processors/mandatory/new", mandatory.create, name="mandatory-create"),
    path("processors/mandatory/<uuid:mandatory_id>", mandatory.edit, name="mandatory-edit"),
    path(
        "processors/mandatory/<uuid:mandatory_id>/remove", mandatory.remove, name="mandatory-remove"
    ),
    path("processors/services/new", services.create, name="service-create"),
    path("processors/services/<uuid:service_id>", services.edit, name="service-edit"),
    path("processors/services/<uuid:service_id>/test", services.check_service, name="service-test"),
    path("processors/services/<uuid:service_id>/remove", services.remove, name="service-remove"),
    # Why a call is refused
    path("explain", explain.explain_call, name="explain"),
    # Settings
    path("settings", settings.show_settings, name="settings"),
    path("settings/name", settings.rename, name="settings-name"),
    path("settings/profile", settings.choose_profile, name="settings-profile"),
    path("settings/limits", settings.choose_limits, name="settings-limits"),
    path("settings/bodies", settings.store_bodies, name="settings-bodies"),
    path("settings/access-rules", access_rules.edit_rules, name="settings-access"),
    path("settings/mcp-servers", mcp.list_servers, name="mcp-list"),
    path("settings/mcp-servers/new", mcp.create_server, name="mcp-create"),
    path("settings/mcp-servers/<uuid:server_id>", mcp.edit_server, name="mcp-edit"),
    path("settings/mcp-servers/<uuid:server_id>/test", mcp.test_server, name="mcp-test"),
    path("settings/mcp-servers/<uuid:server_id>/remove", mcp.remove_server, name="mcp-remove"),
    path("settings/developer-keys", key_policy.edit_policy, name="settings-developer-keys"),
    path("settings/lock", settings.lock, name="settings-lock"),
    path("settings/unlock", settings.unlock, name="settings-unlock"),
    # The audit log
    path("audit", audit.list_events, name="audit"),
    # The frame
    path("search", shell.search_palette, name="palette"),
]

urlpatterns = [
    *(_of_workspace(page) for page in _PAGES),
    path(f"{_WORKSPACE}/", in_workspace(shell.without_slash)),
    # The way in for who was invited, and one's own account
    path("join", join.enter_code, name="join"),
    path("join/accept", join.accept_invitation, name="join-accept"),
    path("account/name", account.change_name, name="account-name"),
    # The installation: workspaces, models, providers, its limits, its audit log
    path("workspaces", workspaces.list_workspaces, name="workspace-list"),
    path("workspaces/new", workspaces.create, name="workspace-create"),
    path("models", models.list_models, name="model-list"),
    path("models/new", models.create_model, name="model-create"),
    path("models/of-provider", provider_models.list_provider_models, name="model-provider-list"),
    path("models/prices", price_list.show_price_list, name="model-price-list"),
    path("models/prices/import", price_list.import_prices, name="model-price-import"),
    path("models/prices/take", price_list.take_prices, name="model-price-take"),
    path("models/preview", models.preview, name="model-preview"),
    path("models/<uuid:model_id>", models.edit_model, name="model-edit"),
    path("models/<uuid:model_id>/switch", models.switch_model, name="model-switch"),
    path("tools", tools.list_tools, name="tool-list"),
    path("tools/<slug:name>", tools.edit_tool, name="tool-edit"),
    path("tools/<slug:name>/test", tools.check_tool, name="tool-test"),
    path("providers", providers.list_providers, name="provider-list"),
    path("providers/new", providers.create_provider, name="provider-create"),
    path("providers/<uuid:provider_id>", providers.edit_provider, name="provider-edit"),
    path(
        "providers/<uuid:provider_id>/credentials/new",
        credentials.create_credential,
        name="credential-create",
    ),
    path(
        "providers/<uuid:provider_id>/credentials/<uuid:credential_id>",
        credentials.edit_credential,
        name="credential-edit",
    ),
    path(
        "providers/<uuid:provider_id>/credentials/<uuid:credential_id>/remove",
        credentials.delete_credential,
        name="credential-remove",
    ),
    path("providers/<uuid:provider_id>/switch", providers.switch_provider, name="provider-switch"),
    path("installation/limits", limits.list_installation_limits, name="installation-limit-list"),
    path(
        "installation/limits/new",
        limits.create_installation_limit,
        name="installation-limit-create",
    ),
    path(
        "installation/limits/<uuid:rule_id>",
        limits.edit_installation_limit,
        name="installation-limit-edit",
    ),
    path(
        "installation/limits/<uuid:rule_id>/remove",
        limits.remove_installation_limit,
        name="installation-limit-remove",
    ),
    path("hosts", hosts.list_hosts, name="host-list"),
    path("hosts/<uuid:process_id>/lost", hosts.declare_host_lost, name="host-declare-lost"),
    path("installation/audit", audit.list_installation_events, name="audit-installation"),
    path("providers/<uuid:provider_id>/call", provider_call.make_call, name="provider-call"),
    path("providers/<uuid:provider_id>/test", providers.check_provider, name="provider-test"),
    # The API's reference
    path("reference", reference.show_reference, name="reference"),
    # The frame; the palette for who is in no workspace
    path("theme", shell.choose_theme, name="theme"),
    path("search", shell.search_palette, name="palette"),
    # The addresses that pages had before workspaces were part of them
    *(_moved(page) for page in _PAGES if page.name != "palette"),
]
