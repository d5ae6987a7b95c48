"""What a workspace has decided of processors, as people see it."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import Q

from accounts.models import Workspace
from gateway.models import MandatoryProcessor, ProcessorService
from keys.models import ApiKey


def mandatory_in(workspace: Workspace) -> Sequence[MandatoryProcessor]:
    """Return those of the workspace, then those of its keys."""
    rows = MandatoryProcessor.objects.filter(workspace=workspace).select_related("key")
    return sorted(rows, key=lambda row: row.key_id is not None)


def mandatory_for(key: ApiKey) -> Sequence[MandatoryProcessor]:
    """Return those that calls of a key go through. A key's own takes the place of its
    workspace's."""
    rows = MandatoryProcessor.objects.filter(
        Q(key=None) | Q(key=key), workspace_id=key.workspace_id
    )
    found = {row.processor: row for row in sorted(rows, key=lambda row: row.key_id is not None)}
    return list(found.values())


def services_in(workspace: Workspace) -> Sequence[ProcessorService]:
    return list(ProcessorService.objects.filter(workspace=workspace))
