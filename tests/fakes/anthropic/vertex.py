"""The Messages API as Vertex AI serves it: another address, another credential, and in the body no
model, but the version.

Reference: https://cloud.google.com/vertex-ai/generative-ai/docs/partner-models/claude/use-claude
Google itself refuses what has no token or asks for a model that is not there, in its own form.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from tests.fakes.anthropic.refused import Refused
from tests.fakes.asked import Request

VERSION = "vertex-2023-10-16"
ADDRESS = re.compile(
    r"/v1/projects/([^/]+)/locations/[^/]+/publishers/anthropic/models/([^/:]+):(\w+)$"
)
STREAMS = {"rawPredict": False, "streamRawPredict": True}
STATUS = {
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
}


def is_vertex(path: str) -> bool:
    return "/publishers/anthropic/" in path


def google_error(status: int, message: str) -> object:
    """Return an error of the platform's, as for a stream: in a list."""
    return [{"error": {"code": status, "message": message, "status": STATUS[status]}}]


def unwrap(request: Request, headers: Mapping[str, str], body: dict[str, Any]) -> dict[str, Any]:
    """Return the body as Anthropic itself would take it. Raises Refused."""
    found = ADDRESS.search(request.path)
    if found is None or found[3] not in STREAMS:
        raise Refused("Not found", 404, google_error(404, f"No {request.path} here."))
    if not headers.get("authorization", "").startswith("Bearer "):
        said = "Request is missing required authentication credential."
        raise Refused(said, 401, google_error(401, said))
    for name in ("x-api-key", "anthropic-version"):
        if name in headers:
            raise Refused(f"{name}: is Anthropic's own")
    rest = dict(body)
    if "anthropic_version" not in rest:
        raise Refused("anthropic_version: Field required")
    if rest.pop("anthropic_version") != VERSION:
        raise Refused(f"anthropic_version: Input should be '{VERSION}'")
    if "model" in rest:
        raise Refused("model: Extra inputs are not permitted")
    if bool(rest.get("stream")) != STREAMS[found[3]]:
        raise Refused(f"stream: {found[3]} is something else")
    return {"model": unquote(found[2])} | rest
