"""What people do with limit rules, each within their role. Pages come here; commands, which run on
the host with an operator's rights, call keys.limit_rules themselves.

Every function raises NotAllowed when the person may not do it.
"""

from __future__ import annotations

from accounts.models import Role, User, Workspace
from accounts.permissions import Action, NotAllowed, may
from accounts.untyped import Arguments
from keys import limit_rules
from keys.limit_rules import RuleHolder
from keys.models import LimitRule

REFUSED = "Only owners and admins can change limits."
NOT_AN_OPERATOR = "Only operators can change limits of the installation and of models."
OWN = "An owner has to change a limit that is set for you."


def may_manage(person: User, workspace: Workspace | None) -> bool:
    """True when the person sets limits there. None: those of the installation and of models."""
    if workspace is None:
        return may(person, Action.MANAGE_CATALOGUE)
    return may(person, Action.MANAGE_WORKSPACE, workspace)


def is_bound(person: User, rule: LimitRule) -> bool:
    """True when the rule is set for this person, who is no owner: they cannot lift it."""
    membership = rule.membership
    if membership is None or membership.user_id != person.pk or person.is_operator:
        return False
    return membership.role != Role.OWNER


def add_rule(holder: RuleHolder, *, person: User, values: Arguments) -> LimitRule:
    """values: as limit_rules.add_limit_rule takes them."""
    _require(person, holder.workspace)
    return limit_rules.add_limit_rule(holder, actor=person.email, **values)


def change_rule(rule: LimitRule, *, person: User, values: Arguments) -> bool:
    """values: as limit_rules.change_limit_rule takes them. False: nothing is different."""
    _require(person, rule.workspace, rule)
    return limit_rules.change_limit_rule(rule, actor=person.email, **values)


def remove_rule(rule: LimitRule, *, person: User) -> bool:
    """Return False when it was removed before."""
    _require(person, rule.workspace, rule)
    return limit_rules.remove_limit_rule(rule, actor=person.email)


def _require(person: User, workspace: Workspace | None, rule: LimitRule | None = None) -> None:
    if not may_manage(person, workspace):
        raise NotAllowed(NOT_AN_OPERATOR if workspace is None else REFUSED)
    if rule is not None and is_bound(person, rule):
        raise NotAllowed(OWN)
