"""Deleting stored responses."""

from __future__ import annotations

from gateway.models import CallBody
from gateway.selectors.stored_responses import StoredResponse


def delete_response(response: StoredResponse) -> None:
    """Delete what was said, the request and the response. The record of the call stays."""
    CallBody.objects.filter(call_id=response.call_id, workspace_id=response.workspace_id).delete()
