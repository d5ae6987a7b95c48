"""Azure OpenAI as the fake upstream has it: under /azure/openai/v1, with the model in the body, and
under /azure/openai/deployments/<deployment>, with api-version in the query. The key is in api-key,
a token of Microsoft Entra in authorization.

https://learn.microsoft.com/azure/ai-foundry/openai/reference
https://learn.microsoft.com/azure/ai-services/openai/reference-preview-latest: v1 has sound in its
preview alone
https://learn.microsoft.com/azure/ai-foundry/openai/how-to/responses: for v1 alone
"""

from __future__ import annotations

import re
from urllib.parse import parse_qs, urlsplit

from tests.fakes.asked import Request

PREFIX = "/azure/openai/"
_PATHS = re.compile(
    r"/azure/openai/(v1|deployments/([\w.-]+))"
    r"/(chat/completions|embeddings|models|responses|audio/(?:speech|transcriptions|translations))"
)
_VERSION = re.compile(r"20\d\d-\d\d-\d\d(-preview)?")


def is_azure(path: str) -> bool:
    return path.startswith(PREFIX)


def open_request(request: Request) -> tuple[int, object] | None:
    """Bring a request to OpenAI's path, with the deployment as the model, or return the status and
    the body of its refusal."""
    url = urlsplit(request.path)
    found = _PATHS.fullmatch(url.path)
    versions = parse_qs(url.query).get("api-version", [])
    is_right = found is not None and (
        bool(versions and _VERSION.fullmatch(versions[0])) and found[3] != "responses"
        if found[2]
        else versions == (["preview"] if found[3].startswith("audio/") else [])
    )
    if found is None or not is_right:
        return 404, {"error": {"code": "404", "message": "Resource not found"}}
    names = {name.lower(): value for name, value in request.headers}
    token = names.get("authorization", "")
    if ("api-key" in names) == token.startswith("Bearer ey"):
        message = "Access denied due to invalid subscription key or wrong API endpoint."
        return 401, {"error": {"code": "401", "message": message}}
    request.path = f"/azure/v1/{found[3]}"
    return None
