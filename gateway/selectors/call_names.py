"""A call by any of its names: our id in every spelling that we ever showed, or the caller's own."""

from __future__ import annotations

import uuid
from operator import attrgetter

from django.db.models import Q

from gateway.core.ids import find_request_id
from gateway.core.request import CLIENT_ID, MAX_CLIENT_ID_BYTES
from gateway.models import CallRecord


def find_call_named(workspace_id: uuid.UUID, text: str) -> CallRecord | None:
    """Return the call of the workspace that the text means, the newest where its caller gave
    the same id to several."""
    calls = CallRecord.objects.filter(workspace_id=workspace_id)
    call_id = find_request_id(text)
    found = calls.filter(pk=call_id).first() if call_id else None
    if found is not None or len(text) > MAX_CLIENT_ID_BYTES or not CLIENT_ID.fullmatch(text):
        return found
    spellings = {text, str(call_id or text)}
    # The first condition repeats the partial index's own: SQLite needs to see it.
    given = calls.filter(~Q(client_request_id="")).order_by("-id")
    # One by one, so that the index yields the newest: one id may be given to a million calls.
    newest = (given.filter(client_request_id=each).first() for each in spellings)
    return max(filter(None, newest), key=attrgetter("id"), default=None)
