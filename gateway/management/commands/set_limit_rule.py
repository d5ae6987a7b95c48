"""set_limit_rule: set a limit for the installation, a model, a workspace, members or keys."""

from __future__ import annotations

from argparse import ArgumentParser

from accounts.management.json_command import ACTOR, Answer, JsonCommand
from accounts.models import Workspace
from accounts.selectors import get_member, get_workspace
from accounts.untyped import Arguments, Options
from gateway.selectors.catalogue import get_model
from keys.limit_rules import (
    RuleHolder,
    add_limit_rule,
    change_limit_rule,
    for_each_key,
    for_each_member,
    for_installation,
    for_key,
    for_member,
    for_model,
    for_workspace,
    values_of,
)
from keys.limit_selectors import get_limit_rule
from keys.limit_values import LimitValues
from keys.limit_words import holder_words
from keys.management.limit_rule_options import (
    add_limit_values,
    read_limit_values,
    write_limit_rule,
)
from keys.models import LimitRule
from keys.selectors import get_key

FIXED = ("metric", "period", "algorithm", "per_request")
_HOLDERS = ("installation", "model", "workspace", "member", "each_member", "key", "each_key")
_IN_WORKSPACE = ("member", "each_member", "each_key")
ONE_HOLDER = (
    "Specify what the limit is for: --installation, --model, --key, or --workspace with or without"
    " --member, --each-member or --each-key."
)


class Command(JsonCommand):
    help = (
        "Add a limit, or change one with --rule. A call has to pass all limits that apply to it. "
        "Changes apply within a second."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        add_rule_options(parser)

    def answer(self, *, rule: str | None, **options: object) -> Answer:
        if rule is not None:
            return self._change(get_limit_rule(rule), options)
        holder = read_holder(options)
        values = {"metric": "", "maximum": None, **read_limit_values(options)}
        return {"changed": True} | write_limit_rule(add_limit_rule(holder, actor=ACTOR, **values))

    def describe(self, answer: Answer) -> str:
        rule = get_limit_rule(str(answer["rule_id"]))
        state = "is set" if answer["changed"] else "is as it was"
        return f"{holder_words(rule)}: {answer['limit']} {state} ({answer['rule_id']})."

    def _change(self, rule: LimitRule, options: Options) -> Answer:
        wanted = read_change(options, values_of(rule))
        changeable: Arguments = {name: wanted[name] for name in wanted if name not in FIXED}
        changed = change_limit_rule(rule, actor=ACTOR, **changeable)
        return {"changed": changed} | write_limit_rule(rule)


def add_rule_options(parser: ArgumentParser) -> None:
    """Add the options that say what a limit is for, and how much."""
    parser.add_argument("--rule", metavar="ID", help="Change this limit.")
    parser.add_argument("--installation", action="store_true", help="All calls together.")
    parser.add_argument("--model", metavar="NAME", help="All calls to a model together.")
    parser.add_argument("--workspace", help="Workspace ID, slug or name: all of its calls.")
    parser.add_argument("--member", metavar="EMAIL", help="The keys of a member together.")
    parser.add_argument("--each-member", action="store_true", help="The keys of each member.")
    parser.add_argument("--key", help="Key ID (preferred), last 4 characters, or the secret.")
    parser.add_argument("--each-key", action="store_true", help="Each key of the workspace.")
    add_limit_values(parser)


def read_change(options: Options, stored: LimitValues) -> Arguments:
    """Return all values of a limit with those that were named. Raises ValueError."""
    if any(options[name] for name in (*FIXED, *_HOLDERS)):
        raise ValueError(
            "What a limit is for and what it counts cannot be changed. Only --maximum, --burst,"
            " --only-model, --label and --enabled can be changed."
        )
    return {**stored, **read_limit_values(options, stored)}


def read_holder(options: Options) -> RuleHolder:
    """Return what the options say that the limit is for. Raises ValueError, LookupError."""
    return _find_holder({name: options[name] for name in _HOLDERS if options[name]})


def _find_holder(named: Arguments) -> RuleHolder:
    """named: the options that say what the limit is for. Raises ValueError, LookupError."""
    inner = [name for name in _IN_WORKSPACE if name in named]
    outer = [name for name in named if name not in inner]
    if len(outer) != 1 or len(inner) > 1 or (inner and outer != ["workspace"]):
        raise ValueError(ONE_HOLDER)
    if "workspace" in named:
        return _in_workspace(get_workspace(named["workspace"]), named)
    if "key" in named:
        return for_key(get_key(named["key"]))
    return for_model(get_model(named["model"]).name) if "model" in named else for_installation()


def _in_workspace(workspace: Workspace, named: Arguments) -> RuleHolder:
    if "member" in named:
        return for_member(get_member(workspace, named["member"]))
    if "each_member" in named:
        return for_each_member(workspace)
    return for_each_key(workspace) if "each_key" in named else for_workspace(workspace)
