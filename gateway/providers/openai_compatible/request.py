"""The HTTP request of OpenAI's dialect, whatever its operation is."""

from __future__ import annotations

from urllib.parse import quote

import msgspec

from gateway.core.call import Payload
from gateway.core.grant import Grant
from gateway.providers.catalogue import BY_NAME
from gateway.snapshot.types import TargetRecord

BYTES_PER_TOKEN = 4
USAGE_WANTED = b'{"include_usage":true}'


def write_headers(grant: Grant, target: TargetRecord, *, stream: bool = False) -> dict[str, str]:
    headers = {
        "content-type": "application/json",
        "accept": "text/event-stream" if stream else "application/json",
        "accept-encoding": "identity",
        "user-agent": "tollhouse",
        "x-request-id": grant.identity.call_id,
    }
    headers.update(BY_NAME[target.kind].headers_with(target.secret))
    return headers


def write_url(target: TargetRecord, path: str) -> str:
    """Return where an operation is asked for. path: without a slash before it."""
    kind = BY_NAME[target.kind]
    if kind.deployment_path and (version := kind.deployments_version(target.settings)):
        place = kind.deployment_path.format(quote(target.native_model, safe=""))
        return f"{target.base_url}{place}/{path}?api-version={version}"
    return f"{target.base_url}{kind.path_prefix}/{path}"


def find_url(target: TargetRecord, operation: str) -> str:
    """Return where a provider is asked for an operation that is in its `paths`."""
    kind = BY_NAME[target.kind]
    base, path = target.base_url, kind.paths[operation]
    if not path.startswith("../"):
        url = write_url(target, path)
        return f"{url}?api-version=preview" if operation in kind.preview and "?" not in url else url
    while path.startswith("../"):
        base, path = base.rpartition("/")[0], path.removeprefix("../")
    return f"{base}/{path}"


def change_fields(payload: Payload, grant: Grant, target: TargetRecord) -> dict[str, bytes | None]:
    """Return the fields that no provider gets as the caller wrote them, whatever the operation is:
    the model, what is dropped, the model's defaults, and names that are others there."""
    kind = BY_NAME[target.kind]
    changed: dict[str, bytes | None] = dict.fromkeys((*kind.drops, *grant.dropped_params))
    changed["model"] = msgspec.json.encode(target.native_model)
    for name, raw in target.default_params:
        if not payload.has(name):
            changed[name] = raw
    for name, theirs in kind.renames:
        value = changed.get(name, payload.fields.get(name))
        if value not in (None, b"null") and not payload.has(theirs):
            changed[theirs] = value
        changed[name] = None
    return changed


def ask_for_usage(raw: bytes | None) -> bytes:
    """Return the caller's stream_options with include_usage on: we always account."""
    if raw is None or raw == USAGE_WANTED:
        return USAGE_WANTED
    options = msgspec.json.decode(raw)
    return msgspec.json.encode({**(options or {}), "include_usage": True})
