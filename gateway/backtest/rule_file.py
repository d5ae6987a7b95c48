"""Reads limit rules from JSON, as list_limit_rules --json and set_limit_rule --json write them.

They are checked as new ones are. Nothing is written.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar
from uuid import UUID

from django.core.exceptions import ValidationError

from accounts.models import Workspace
from accounts.selectors import get_member, get_workspace
from gateway.core.json_types import JsonObject
from gateway.core.money import read_usd
from gateway.selectors.catalogue import get_model
from keys.limit_rules import (
    RuleHolder,
    for_each_key,
    for_each_member,
    for_installation,
    for_key,
    for_member,
    for_model,
    for_workspace,
    unsaved_rule,
)
from keys.limit_values import NUSD_PER_MICRO_USD, LimitValues
from keys.models import LimitRule
from keys.selectors import get_key

MAX_RULES = 10_000
COST = LimitRule.Metric.COST.value
Level = LimitRule.Level
# What a rule has when nothing is said.
DEFAULTS: LimitValues = {
    "metric": "",
    "maximum": 0,
    "period": "",
    "algorithm": "",
    "burst": None,
    "per_request": False,
    "only_models": [],
    "label": "",
    "is_enabled": True,
}
_HOLDERS = ("workspace_id", "member", "key_id", "model")
# Where the level is not enough to say what a rule is for.
_HOLDERS_OF: Mapping[str, Sequence[str]] = {
    Level.INSTALLATION: (),
    Level.MODEL: ("model",),
    Level.WORKSPACE: ("workspace_id",),
    Level.MEMBER: ("workspace_id", "member"),
    Level.KEY: ("workspace_id", "key_id"),
}
_TYPES: Mapping[str, tuple[type, ...]] = {
    **dict.fromkeys(("rule_id", "level", *_HOLDERS, "metric", "maximum_usd"), (str,)),
    **dict.fromkeys(("period", "algorithm", "label", "limit"), (str,)),
    **dict.fromkeys(("maximum", "burst"), (int,)),
    **dict.fromkeys(("per_request", "enabled", "changed"), (bool,)),
    "only_models": (list,),
}
_NAMES: Mapping[type, str] = {str: "text", int: "a whole number", bool: "true or false"}
T = TypeVar("T")


class RuleFileError(ValueError):
    """Says where in the file."""


def read_rules(text: str, name: str) -> list[LimitRule]:
    """Return the rules of a file, which are not in the database. name: of the file.

    Raises RuleFileError for the first that cannot be taken.
    """
    try:
        found = json.loads(text)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise RuleFileError(f"{name}, {where}: {error.msg}.") from None
    except (ValueError, RecursionError) as error:
        raise RuleFileError(f"{name}: {error}.") from None
    rules = found.get("limits") if isinstance(found, dict) and "level" not in found else found
    if isinstance(rules, dict):
        rules = [rules]
    if not isinstance(rules, list):
        raise RuleFileError(
            f"{name}: A list of limits is expected, or an object with the list as `limits`."
        )
    if len(rules) > MAX_RULES:
        raise RuleFileError(f"{name}: There can be at most {MAX_RULES:,} limits.")
    read = [_read_rule(rule, f"{name}, limit {place}") for place, rule in enumerate(rules, 1)]
    seen: dict[UUID, int] = {}
    for place, rule in enumerate(read, 1):
        if rule.pk in seen:
            raise RuleFileError(
                f"{name}, limit {place}, rule_id: Limit {seen[rule.pk]} has the same."
            )
        seen[rule.pk] = place
    return read


def _read_rule(given: object, where: str) -> LimitRule:
    if not isinstance(given, dict):
        raise RuleFileError(f"{where}: An object is expected.")
    fields = {name: value for name, value in given.items() if value is not None}
    for name, value in fields.items():
        _check_type(name, value, where)
    holder = _read_holder(fields, where)
    try:
        rule = unsaved_rule(holder, _read_values(fields, where))
    except ValidationError as error:
        field, messages = next(iter(error.message_dict.items()))
        field = "enabled" if field == "is_enabled" else field
        raise RuleFileError(f"{where}, {field}: {messages[0]}") from None
    if "rule_id" in fields:
        rule.pk = _read("rule_id", where, lambda: _read_id(fields["rule_id"]))
    return rule


def _check_type(name: str, value: object, where: str) -> None:
    wanted = _TYPES.get(name)
    if wanted is None:
        raise RuleFileError(f"{where}: There is no field {name[:60]!r}.")
    if type(value) not in wanted:
        what = _NAMES.get(wanted[0], "a list of model names")
        raise RuleFileError(f"{where}, {name}: Enter {what}.")
    if isinstance(value, list) and not all(isinstance(one, str) for one in value):
        raise RuleFileError(f"{where}, {name}: Enter a list of model names.")
    if isinstance(value, str) and "\0" in value:
        raise RuleFileError(f"{where}, {name}: The text contains a null character.")


def _read_values(fields: JsonObject, where: str) -> LimitValues:
    is_cost = fields.get("metric") == COST
    unit = NUSD_PER_MICRO_USD if is_cost else 1
    values: LimitValues = {**DEFAULTS, "metric": fields.get("metric", "")}
    if "maximum" in fields:
        values["maximum"] = fields["maximum"] * unit
    elif "maximum_usd" in fields:
        if not is_cost:
            raise RuleFileError(f"{where}, maximum_usd: Only cost has it. Enter the maximum.")
        values["maximum"] = _read("maximum_usd", where, lambda: read_usd(fields["maximum_usd"]))
    values["period"] = fields.get("period", "")
    values["algorithm"] = fields.get("algorithm", "")
    values["burst"] = fields["burst"] * unit if "burst" in fields else None
    values["per_request"] = fields.get("per_request", False)
    values["only_models"] = fields.get("only_models", [])
    values["label"] = fields.get("label", "")
    values["is_enabled"] = fields.get("enabled", True)
    return values


def _read_holder(fields: JsonObject, where: str) -> RuleHolder:
    level = fields.get("level", "")
    if level not in _HOLDERS_OF:
        raise RuleFileError(f"{where}, level: Choose a level: {', '.join(Level.values)}.")
    for name in _HOLDERS:
        if name in fields and name not in _HOLDERS_OF[level]:
            raise RuleFileError(f"{where}, {name}: A limit of the level {level} has none.")
    if level == Level.INSTALLATION:
        return for_installation()
    if level == Level.MODEL:
        return _read("model", where, lambda: for_model(get_model(fields.get("model", "")).name))
    if level == Level.KEY and "key_id" in fields:
        return _read("key_id", where, lambda: for_key(get_key(fields["key_id"])))
    workspace = _read("workspace_id", where, lambda: _find_workspace(fields))
    if level == Level.MEMBER and "member" in fields:
        return _read("member", where, lambda: for_member(get_member(workspace, fields["member"])))
    for_each = {Level.MEMBER: for_each_member, Level.KEY: for_each_key}
    return for_each.get(level, for_workspace)(workspace)


def _find_workspace(fields: JsonObject) -> Workspace:
    if "workspace_id" not in fields:
        raise LookupError("Enter the ID, slug or name of the workspace.")
    return get_workspace(fields["workspace_id"])


def _read(field: str, where: str, read: Callable[[], T]) -> T:
    """Raises RuleFileError with the field."""
    try:
        return read()
    except (ValueError, LookupError) as error:
        raise RuleFileError(f"{where}, {field}: {error}") from None


def _read_id(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise ValueError(f"{text[:60]!r} is not an ID.") from None
