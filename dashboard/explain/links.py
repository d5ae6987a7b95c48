"""Addresses of the page that explains a call, with what it is to be asked."""

from __future__ import annotations

from urllib.parse import urlencode

from accounts.models import User, Workspace
from dashboard.http.page_urls import page_address
from gateway.models import CallRecord
from keys.models import ApiKey
from keys.selectors import keys_explainable_by, may_change


def explain_key_url(person: User, key: ApiKey) -> str:
    """Return where calls with the key are explained; empty for who may not ask."""
    if not may_change(person, key):
        return ""
    return f"{page_address(key.workspace, 'explain')}?{urlencode({'key': key.pk})}"


def explain_again_url(person: User, workspace: Workspace, call: CallRecord) -> str:
    """Return where a call like a refused one is explained as it would be decided now; empty for
    who may not ask, and where its key is not there any more."""
    if call.status != CallRecord.Status.REFUSED:
        return ""
    if not keys_explainable_by(person, workspace).filter(pk=call.key_id).exists():
        return ""
    question = {
        "key": call.key_id,
        "model": call.requested_model,
        "endpoint": call.endpoint_name,
        "address": call.ip,
    }
    return f"{page_address(workspace, 'explain')}?{urlencode(question)}"
