"""Mandatory processors as lines of a page."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from accounts.models import User, Workspace
from accounts.permissions import Action, may
from dashboard.http.page_urls import page_address
from dashboard.processors.option_fields import describe_options
from gateway.models import MandatoryProcessor


@dataclass(frozen=True, slots=True)
class MandatoryLine:
    """notes: for which keys, and its options. edit_url: empty for who may not change it."""

    name: str
    whose: str
    notes: str
    edit_url: str


def mandatory_lines(
    rows: Iterable[MandatoryProcessor], person: User, workspace: Workspace
) -> list[MandatoryLine]:
    may_change = may(person, Action.MANAGE_WORKSPACE, workspace)
    return [
        MandatoryLine(
            row.processor,
            whose := "all keys" if row.key is None else f"key {row.key.label}",
            " · ".join((whose, *_words(row))),
            page_address(workspace, "mandatory-edit", row.pk) if may_change else "",
        )
        for row in rows
    ]


def _words(row: MandatoryProcessor) -> list[str]:
    language = [f"language {row.language}"] if row.language else []
    return [*language, *describe_options(row.options)]
