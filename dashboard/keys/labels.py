"""The labels of keys that figures and calls refer to by id."""

from __future__ import annotations

import uuid
from collections.abc import Iterable

from keys.models import ApiKey


def key_labels(workspace_id: uuid.UUID, key_ids: Iterable[uuid.UUID]) -> dict[uuid.UUID, str]:
    """Return label by id for those keys of the workspace; an unknown id is missing."""
    keys = ApiKey.objects.filter(workspace_id=workspace_id, id__in=set(key_ids)).order_by()
    return dict(keys.values_list("id", "label"))
