"""What Schemathesis cannot know of the gateway: a model, and why good requests may be refused.

It loads this module (schemathesis.toml). Its own check takes 400 for a request that fits the
document as a failure without asking why; the one here asks, and knows the rules that JSON Schema
cannot say.
"""

from __future__ import annotations

import json
import re
from typing import Any

import schemathesis
from schemathesis import Case, CheckContext, HookContext, Response
from schemathesis.core.failures import Failure

# By message: codes are lost where the profile is bud.
MESSAGES = re.compile(
    "|".join(
        (
            # What has to agree with something elsewhere in the request.
            r"Two tools are named",
            r"tool_choice names .* not in tools",
            r"Only one of .* can be set",
            r".* and response_format cannot both be set",
            r"start must be before end",
            # JSON Schema takes 1.0 for an integer; we do not.
            r"\S+: Expected `int( \| \w+)*`, got `float`",
            # What is a language of its own.
            r"\S+ does not compile",
            r"\S+ is not a valid JSON Schema",
            r"\S+ can only refer to (itself|the same schema)",
            r"\S+ is not valid JSON\.",
            # What the bytes of a file are, and which of its spellings are complete.
            r"A file part needs file_data, file_url, data or file_id",
            r"The file (could not be fetched|is larger than|is empty)",
            r"Files cannot be fetched from this URL",
            r"A request can have at most 5 files",
            r"The (URL|host of the URL) (is|names|must|could) ?",
            r"The PDF (is|has|could)",
            r"The (data|data: URL) is (not valid|malformed|empty)",
            r"The (image|audio|file|file type) is (not|\S+, not) ?",
            # What only the installation knows.
            r"The (file|model) .* does not exist",
            r"after is not a model of this list",
            r".* does not support ",
            r"The prompt exceeds the model's context window",
            # What the simulated model rejects.
            r"The provider rejected the request: At most \d+ dimensions",
            r"The provider rejected the request: A tool, a function or the response schema",
            r"The Idempotency-Key was already used",
            # What moments nobody can mean.
            r"The time in the episode ID is in the future",
            r"(start|end) must be in the years",
            # What another product does not take, where its profile is asked for.
            r"(n|reasoning_effort) must be .*",
        )
    ),
    re.DOTALL,
)


A_MODEL = "tollhouse/simulated"


@schemathesis.hook
def before_load_schema(context: HookContext, raw_schema: dict[str, Any]) -> None:
    """Let the stateful phase call a model that it was shown: it begins with lists, and OpenAPI has
    no link that fills in one member of a body."""
    links = raw_schema["paths"]["/models"]["get"]["responses"]["200"]["links"]
    body = {"model": "$response.body#/data/0/id"}
    links["call"] = {"operationId": "createChatCompletion", "requestBody": body}


@schemathesis.hook
def before_call(context: HookContext, case: Case[Any], kwargs: dict[str, Any]) -> None:
    """Name a model that exists in bodies of the coverage phase, which all name the model 0."""
    if isinstance(case.body, dict) and case.body.get("model") == "0":
        case.body["model"] = A_MODEL


@schemathesis.check
def good_requests_are_refused_for_reasons(
    ctx: CheckContext, response: Response, case: Case[Any]
) -> bool | None:
    """Raise Failure when a request that fits the document is refused for no reason of these."""
    if case.meta is None or not case.meta.generation.mode.is_positive:
        return None
    if response.status_code != 400:
        return None
    error = json.loads(response.content)["error"]
    if not MESSAGES.match(error["message"]):
        raise Failure(
            operation=case.operation.label,
            title="A request that fits the document was refused",
            message=json.dumps(error),
        )
    return None
