"""Lists of limits as tables."""

from __future__ import annotations

from dataclasses import dataclass, replace

from accounts.models import User
from dashboard.limits.places import Place
from dashboard.ui.tables import Column, Empty, Layout, Shown, Table
from keys.limit_actions import is_bound
from keys.limit_selectors import limit_rules_over
from keys.limit_words import counted_words, holder_words, limit_words
from keys.models import ApiKey, LimitRule

SHOWN = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitRow:
    """A limit in words. may_change: the person who looks may change or remove it."""

    rule: LimitRule
    words: str
    counted: str
    holder: str
    may_change: bool
    edit_url: str = ""
    remove_url: str = ""

    @property
    def notes(self) -> str:
        """All but the limit itself, in a line."""
        models = ", ".join(self.rule.only_models)
        return " · ".join(filter(None, (self.holder, self.counted, models, self.rule.label)))


_LAYOUT = Layout[LimitRow](
    name="limit",
    label="Limits",
    cells="dashboard/limits/_cells.html",
    columns=(
        Column("limit", "Limit", css="cell-long"),
        Column("holder", "For", shown=Shown.WIDE),
        Column("counted", "Algorithm", shown=Shown.WIDER, cell_css="nowrap"),
        Column("actions", "Actions", is_head_hidden=True, cell_css="num"),
    ),
    row_id=lambda row: row.rule.pk,
    is_faded=lambda row: not row.rule.is_enabled,
    opens=False,
)


def limit_table(place: Place, person: User, query: str) -> Table[LimitRow]:
    rules = list(place.rules(query)[: SHOWN + 1])
    manages = place.may_manage(person)
    rows = [_row(rule, place, person, manages=manages) for rule in rules[:SHOWN]]
    more = f"Showing the first {SHOWN}. Search to find others."
    return _LAYOUT.fill(
        rows,
        without=() if manages else ("actions",),
        empty=_empty(place, query),
        note=more if len(rules) > SHOWN else "",
    )


def limit_row(rule: LimitRule) -> LimitRow:
    """Return the limit as somebody sees it who only looks."""
    return LimitRow(
        rule=rule,
        words=limit_words(rule),
        counted=counted_words(rule),
        holder=holder_words(rule),
        may_change=False,
    )


def limits_of_key(key: ApiKey) -> list[LimitRow]:
    """Return the limits that calls of a key are under, each with where it is set as its holder."""
    return [replace(limit_row(rule), holder=_set_for(rule)) for rule in limit_rules_over(key)]


def _set_for(rule: LimitRule) -> str:
    if rule.level == LimitRule.Level.MODEL:
        return f"Model {rule.model}"
    return "This key" if rule.key_id else holder_words(rule)


def _row(rule: LimitRule, place: Place, person: User, *, manages: bool) -> LimitRow:
    return LimitRow(
        rule=rule,
        words=limit_words(rule),
        counted=counted_words(rule),
        holder=holder_words(rule),
        may_change=manages and not is_bound(person, rule),
        edit_url=place.address("edit", rule.pk),
        remove_url=place.address("remove", rule.pk),
    )


def _empty(place: Place, query: str) -> Empty:
    if query:
        return Empty(icon="search-x", title="No matching limits", text="Try a shorter search.")
    if place.workspace is None:
        text = "Limits here apply to all workspaces together, or to all calls of a model."
    else:
        text = "A limit can be for all keys of the workspace together, for members or for keys."
    return Empty(
        icon="gauge",
        title="No limits are set",
        text=text,
    )
