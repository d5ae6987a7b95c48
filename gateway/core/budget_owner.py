"""Whose budget it is: a key's, that of a member in a workspace, or the workspace's.

A call is charged to all three. A member's is that of all keys that are the member's own.
"""

from __future__ import annotations

import uuid
from enum import StrEnum
from typing import NamedTuple


class Level(StrEnum):
    """Who has the budget, as callers are told."""

    WORKSPACE = "organisation"
    MEMBER = "user"
    KEY = "token"


class BudgetOwner(NamedTuple):
    """id: UUID text, unique among all owners. member_id: the user's id, for a member only."""

    level: Level
    id: str
    workspace_id: str
    member_id: int | None = None


def key_owner(key_id: object, workspace_id: object) -> BudgetOwner:
    return BudgetOwner(Level.KEY, str(key_id), str(workspace_id))


def member_owner(user_id: int, workspace_id: object) -> BudgetOwner:
    # Memberships have no UUID: this one is made of what a membership is.
    made = uuid.uuid5(uuid.UUID(str(workspace_id)), str(user_id))
    return BudgetOwner(Level.MEMBER, str(made), str(workspace_id), user_id)


def workspace_owner(workspace_id: object) -> BudgetOwner:
    return BudgetOwner(Level.WORKSPACE, str(workspace_id), str(workspace_id))
