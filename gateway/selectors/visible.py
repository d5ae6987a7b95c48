"""Whose calls a person may see in a workspace. Every read of calls and totals starts here."""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from accounts.models import User, Workspace
from accounts.permissions import Action, may
from gateway.snapshot.types import KeyRecord
from keys.models import ApiKey, Scope


@dataclass(frozen=True, slots=True)
class Visible:
    """One workspace's calls: all of them, or those of some keys (perhaps of none)."""

    workspace_id: uuid.UUID
    key_ids: tuple[uuid.UUID, ...] | None = None

    @property
    def is_everything(self) -> bool:
        return self.key_ids is None


def read_by(key: KeyRecord) -> Visible:
    """Return the calls that a key may read: its own, or with usage.workspace the workspace's."""
    workspace_id = uuid.UUID(key.workspace_id)
    if Scope.USAGE_WORKSPACE in key.scopes:
        return Visible(workspace_id)
    return Visible(workspace_id, (uuid.UUID(key.key_id),))


def visible_to(user: User, workspace: Workspace) -> Visible:
    """Return what this person may see: everything, or what the keys they created have done."""
    if may(user, Action.VIEW_USAGE, workspace):
        return Visible(workspace.id)
    own = ApiKey.objects.filter(workspace=workspace, created_by=user).order_by("id")
    return Visible(workspace.id, tuple(own.values_list("id", flat=True)))
