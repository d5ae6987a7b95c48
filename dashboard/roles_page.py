"""docs/roles.md, made from the permission rules: `python -m dashboard.roles_page`.

What each form and each command asks for stands here; a test looks that none is missing and that
the pages do as it says.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

if __name__ == "__main__":
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gateway.settings")
    django.setup()

from accounts.models import Role
from accounts.permissions import RULES, WORDS, Action

PAGE = Path(__file__).resolve().parents[1] / "docs" / "roles.md"
HEAD = """\
# Roles

Made from [`accounts/permissions.py`](../accounts/permissions.py) and
[`dashboard/roles_page.py`](../dashboard/roles_page.py) by `make fix`; edit those instead.

A member has one role per workspace. Operators run the installation and can do everything
everywhere. Requests for things of another workspace get 404, as if they did not exist. Requests
that a role does not allow get 403 and change nothing.

"""
KEYS = """
## Keys of developers

Owners and admins can set a maximum for keys that developers create (*Settings*, *Developers'
keys*): limits of each key, models, networks, scopes, and the number of keys per developer. Keys
that developers create start with that maximum and cannot exceed it. Developers can rename,
restrict, rotate and revoke their own keys. They cannot extend limits, models, networks, scopes or
the expiry beyond what the key has, including what an owner or admin has set. Only owners and admins
can change keys of others and reset the total of a key.

Owners and admins can import keys issued elsewhere by entering the key itself. Only operators can
import a key by its SHA-256 digest alone, because a digest does not prove possession of the key.

A key of a member never does more than the member may: when their role changes, scopes that the new
role cannot assign stop working within a second, and all of them where the role cannot create keys.
`usage.workspace` and `admin` keep working on a developer's key if an owner or admin assigned them.
When a member leaves, their keys are revoked or transferred to the workspace.

A service key is the workspace's own: no change of members affects it. Owners and admins create
service keys and transfer keys of members to the workspace; keys that `issue_key` creates are
service keys.

Budgets of a key are changed and raised by who may change any key, those of a member by owners and
admins (of owners: by owners only), those of the workspace by who manages it. Nobody changes or
raises their own budget as a member. Members with a budget cannot create service keys or transfer
keys to the workspace, because service keys are under no member's budget.

A key with the scope `usage` reads its own usage and calls. With `usage.workspace`, which only
owners and admins can assign, it reads those of the workspace.
"""
LIMITS = """
## Limits

Owners and admins set [limits](limits.md) for the workspace, its members and its keys. Everyone who
can view the keys can view them. An admin cannot change or remove a limit that is set for them as a
member; an owner can. Only operators set limits of the installation and of models.
"""
API = """
## The API

Roles do not apply under `/v1`. A key can call models and read data, as its scopes allow.
"""


class Form(NamedTuple):
    """What a form asks for. own: where it concerns what the person made, or is; None: the same."""

    action: Action
    own: Action | None = None


# Forms by URL name. None: no right in a workspace is asked for, it is one's own account or view.
FORMS: Mapping[str, Form | None] = {
    "dashboard:key-create": Form(Action.MAKE_KEYS),
    "dashboard:key-import": Form(Action.MANAGE_KEYS),
    "dashboard:key-import-confirm": Form(Action.MANAGE_KEYS),
    "dashboard:key-edit": Form(Action.MANAGE_KEYS, own=Action.MAKE_KEYS),
    "dashboard:key-rotate": Form(Action.MANAGE_KEYS, own=Action.MAKE_KEYS),
    "dashboard:key-revoke": Form(Action.MANAGE_KEYS, own=Action.MAKE_KEYS),
    "dashboard:key-transfer": Form(Action.MANAGE_KEYS),
    "dashboard:key-reset-total": Form(Action.MANAGE_KEYS),
    "dashboard:key-budget": Form(Action.MANAGE_KEYS),
    "dashboard:batch-cancel": Form(Action.MANAGE_KEYS, own=Action.MAKE_KEYS),
    "dashboard:member-invite": Form(Action.MANAGE_MEMBERS),
    "dashboard:member-role": Form(Action.MANAGE_MEMBERS),
    # Nobody changes their own but operators.
    "dashboard:member-budget": Form(Action.MANAGE_MEMBERS, own=Action.MANAGE_WORKSPACES),
    "dashboard:member-remove": Form(Action.MANAGE_MEMBERS, own=Action.LEAVE_WORKSPACE),
    "dashboard:invitation-withdraw": Form(Action.MANAGE_MEMBERS),
    "dashboard:limit-create": Form(Action.MANAGE_WORKSPACE),
    "dashboard:limit-edit": Form(Action.MANAGE_WORKSPACE),
    "dashboard:limit-remove": Form(Action.MANAGE_WORKSPACE),
    "dashboard:explain": Form(Action.MAKE_KEYS),
    "dashboard:processors": Form(Action.MAKE_KEYS),
    "dashboard:mandatory-create": Form(Action.MANAGE_WORKSPACE),
    "dashboard:mandatory-edit": Form(Action.MANAGE_WORKSPACE),
    "dashboard:mandatory-remove": Form(Action.MANAGE_WORKSPACE),
    "dashboard:service-create": Form(Action.MANAGE_WORKSPACE),
    "dashboard:service-edit": Form(Action.MANAGE_WORKSPACE),
    "dashboard:service-test": Form(Action.MANAGE_WORKSPACE),
    "dashboard:service-remove": Form(Action.MANAGE_WORKSPACE),
    "dashboard:settings-name": Form(Action.MANAGE_WORKSPACE),
    "dashboard:settings-profile": Form(Action.MANAGE_WORKSPACE),
    "dashboard:settings-limits": Form(Action.MANAGE_WORKSPACE),
    "dashboard:settings-budget": Form(Action.MANAGE_WORKSPACE),
    "dashboard:settings-bodies": Form(Action.MANAGE_WORKSPACE),
    "dashboard:settings-access": Form(Action.MANAGE_WORKSPACE),
    "dashboard:mcp-create": Form(Action.MANAGE_WORKSPACE),
    "dashboard:mcp-edit": Form(Action.MANAGE_WORKSPACE),
    "dashboard:mcp-test": Form(Action.MANAGE_WORKSPACE),
    "dashboard:mcp-remove": Form(Action.MANAGE_WORKSPACE),
    "dashboard:settings-developer-keys": Form(Action.MANAGE_KEYS),
    "dashboard:settings-lock": Form(Action.MANAGE_WORKSPACE),
    "dashboard:settings-unlock": Form(Action.UNLOCK_WORKSPACE),
    "dashboard:file-upload": Form(Action.MANAGE_FILES),
    "dashboard:file-delete": Form(Action.MANAGE_FILES),
    "dashboard:file-limits": Form(Action.MANAGE_WORKSPACES),
    "dashboard:credits-grant": Form(Action.GRANT_CREDITS),
    "dashboard:workspace-create": Form(Action.MANAGE_WORKSPACES),
    "dashboard:model-create": Form(Action.MANAGE_CATALOGUE),
    "dashboard:model-price-import": Form(Action.MANAGE_CATALOGUE),
    "dashboard:model-price-take": Form(Action.MANAGE_CATALOGUE),
    "dashboard:model-preview": Form(Action.MANAGE_CATALOGUE),
    "dashboard:model-edit": Form(Action.MANAGE_CATALOGUE),
    "dashboard:model-switch": Form(Action.MANAGE_CATALOGUE),
    "dashboard:credential-create": Form(Action.MANAGE_CATALOGUE),
    "dashboard:credential-edit": Form(Action.MANAGE_CATALOGUE),
    "dashboard:credential-remove": Form(Action.MANAGE_CATALOGUE),
    "dashboard:provider-call": Form(Action.MANAGE_CATALOGUE),
    "dashboard:provider-create": Form(Action.MANAGE_CATALOGUE),
    "dashboard:provider-edit": Form(Action.MANAGE_CATALOGUE),
    "dashboard:provider-switch": Form(Action.MANAGE_CATALOGUE),
    "dashboard:provider-test": Form(Action.MANAGE_CATALOGUE),
    "dashboard:tool-edit": Form(Action.MANAGE_CATALOGUE),
    "dashboard:tool-test": Form(Action.MANAGE_CATALOGUE),
    "dashboard:installation-limit-create": Form(Action.MANAGE_CATALOGUE),
    "dashboard:installation-limit-edit": Form(Action.MANAGE_CATALOGUE),
    "dashboard:installation-limit-remove": Form(Action.MANAGE_CATALOGUE),
    "dashboard:host-declare-lost": Form(Action.MANAGE_HOSTS),
    "dashboard:theme": None,
    "dashboard:join": None,
    "dashboard:join-accept": None,
    "dashboard:account-name": None,
    "account_login": None,
    "account_logout": None,
    "account_reauthenticate": None,
    "account_change_password": None,
    "account_set_password": None,
    "mfa_authenticate": None,
    "mfa_login_webauthn": None,
    "mfa_reauthenticate": None,
    "mfa_reauthenticate_webauthn": None,
    "mfa_activate_totp": None,
    "mfa_deactivate_totp": None,
    "mfa_generate_recovery_codes": None,
    "mfa_add_webauthn": None,
    "mfa_edit_webauthn": None,
    "mfa_remove_webauthn": None,
}
# Commands by name, with what a person would need to do the same on a page. None: nobody can.
COMMANDS: Mapping[str, Action | None] = {
    "add_model": Action.MANAGE_CATALOGUE,
    "add_credential": Action.MANAGE_CATALOGUE,
    "add_provider": Action.MANAGE_CATALOGUE,
    "adopt_journal": None,
    "backtest_rules": None,
    "backup": None,
    "cancel_batch": Action.MANAGE_KEYS,
    "clean_files": None,
    "create_workspace": Action.MANAGE_WORKSPACES,
    "declare_lost": Action.MANAGE_HOSTS,
    "explain_call": Action.MANAGE_KEYS,
    "grant_credits": Action.GRANT_CREDITS,
    "import_keys": Action.MANAGE_KEYS,
    "import_prices": Action.MANAGE_CATALOGUE,
    "invite_member": Action.MANAGE_MEMBERS,
    "issue_key": Action.MANAGE_KEYS,
    "list_batches": Action.VIEW_USAGE,
    "list_limit_rules": Action.VIEW_KEYS,
    "list_mcp_servers": Action.MANAGE_WORKSPACE,
    "list_provider_models": Action.MANAGE_CATALOGUE,
    "migrate": None,
    "move_to_postgres": None,
    "prepare": None,
    "prove": None,
    "remove_limit_rule": Action.MANAGE_WORKSPACE,
    "remove_mcp_server": Action.MANAGE_WORKSPACE,
    "remove_member": Action.MANAGE_MEMBERS,
    "reseal_credentials": None,
    "reset_password": None,
    "restore": None,
    "revoke_key": Action.MANAGE_KEYS,
    "rotate_key": Action.MANAGE_KEYS,
    "seed_load": None,
    "set_access_rules": Action.MANAGE_WORKSPACE,
    "set_budget": Action.MANAGE_WORKSPACE,
    "set_key": Action.MANAGE_KEYS,
    "set_limit_rule": Action.MANAGE_WORKSPACE,
    "set_mcp_server": Action.MANAGE_WORKSPACE,
    "set_model": Action.MANAGE_CATALOGUE,
    "set_credential": Action.MANAGE_CATALOGUE,
    "set_processor": Action.MANAGE_WORKSPACE,
    "set_processor_service": Action.MANAGE_WORKSPACE,
    "set_provider": Action.MANAGE_CATALOGUE,
    "set_role": Action.MANAGE_MEMBERS,
    "set_tool": Action.MANAGE_CATALOGUE,
    "set_storage": Action.MANAGE_WORKSPACES,
    "set_workspace": Action.MANAGE_WORKSPACE,
    "test_mcp_server": Action.MANAGE_WORKSPACE,
    "test_provider": Action.MANAGE_CATALOGUE,
    "test_tool": Action.MANAGE_CATALOGUE,
    "up": None,
}


def render() -> str:
    """Return the whole page."""
    parts = [HEAD, *_rules(), KEYS, LIMITS, *_forms(), API, *_commands()]
    return "".join(parts)


def _rules() -> Iterator[str]:
    roles = [Role(role) for role in Role.values]
    yield f"| Right | {' | '.join(role.label for role in roles)} | Operator | Covers |\n"
    yield f"|---|{':-:|' * (len(roles) + 1)}---|\n"
    for action in Action:
        marks = ["yes" if role.value in RULES[action] else "–" for role in roles]  # noqa: RUF001
        yield f"| `{action}` | {' | '.join(marks)} | yes | {WORDS[action]} |\n"


def _forms() -> Iterator[str]:
    yield "\n## Forms\n\n"
    yield "Every form of the dashboard, by URL name, with the right that it requires.\n\n"
    yield "| Form | Right | Right for own keys or membership |\n|---|---|---|\n"
    for name, form in FORMS.items():
        asked = f"`{form.action}`" if form else "none: own account or view"
        own = f"`{form.own}`" if form and form.own else ""
        yield f"| `{name.removeprefix('dashboard:')}` | {asked} | {own} |\n"


def _commands() -> Iterator[str]:
    yield "\n## Commands\n\n"
    yield "`manage.py` runs on the host with the rights of an operator, because whoever runs it\n"
    yield "can read the secrets. The table shows the right that its page requires.\n\n"
    yield "| Command | Right on the pages |\n|---|---|\n"
    for name, action in COMMANDS.items():
        yield f"| `{name}` | {f'`{action}`' if action else 'no page'} |\n"


if __name__ == "__main__":
    PAGE.write_text(render())
    sys.stdout.write(f"Wrote {PAGE.name}.\n")
