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
from schemathesis import Case, CheckContext, DeserializationContext, HookContext, Response
from schemathesis.core.failures import Failure

# By message: codes are lost where the profile is bud.
MESSAGES = re.compile(
    "|".join(
        (
            # What has to agree with something elsewhere in the request.
            r"Two tools are named",
            r"The plugin \S+ is named twice",
            r"tool_choice names .* not in tools",
            r"Only one of .* can be set",
            r".* and response_format cannot both be set",
            r"max_tokens must be greater than thinking.budget_tokens",
            r"tool_choice needs tools",
            r"tools\.\d+\.(name|input_schema) is required",
            r"The messages have no content",
            r"start must be before end",
            # JSON Schema takes 1.0 for an integer; we do not.
            r"\S+ must be an integer.*, not a floating-point number",
            # What is a language of its own.
            r"\S+ does not compile",
            r"\S+ is not a valid JSON Schema",
            r"\S+ can only refer to (itself|the same schema)",
            r"\S+ is not valid JSON\.",
            # What the bytes of a file are, and which of its spellings are complete.
            r"A file part needs file_data, file_url, data or file_id",
            r"The (URL could not be fetched|response is larger than|file is empty)",
            r"This URL cannot be fetched",
            r"A request can have at most 5 files",
            r"A request can have at most 128 completions",
            r"best_of must be at least n",
            r"best_of cannot be streamed",
            r"The (URL|host of the URL) (is|names|must|could) ?",
            r"The PDF (is|has|could)",
            r"The (data|data: URL) is (not valid|malformed|empty)",
            r"The (image|audio|file|file type) is (not|\S+, not) ?",
            r"The media type must be",
            r"The file .* does not exist",
            r"A request can have at most 20 stored files",
            # What a form cannot say of its fields.
            r"The form (cannot be read|has .* twice)",
            r"The field file must be a file",
            r"expires_after\[\S+\] must be",
            r"response_format \S+ cannot be streamed",
            r".* do not support ",
            r"\S+ is not accepted: clients cannot choose",
            r"A parameter name exceeds 256 characters",
            r"tensorzero::\S+ is not available",
            # What only the installation knows.
            r"The (file|model|plugin|service) .* does not exist",
            r"The plugin .* is not configured",
            r"Messages cannot contain images",
            r"haystack needs data",
            r"The type .* cannot be found by this installation",
            r"The (response|item) .* is not stored",
            r"The previous response is not complete yet",
            r"(after|after_id|before_id|page) is not (a model|an item|a file|a batch) of this list",
            r"Only one of \w+ and \w+ can be set",
            r".* does not support ",
            r"The tool .* is not available",
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
FORM = "multipart/form-data"


@schemathesis.deserializer("audio/*")
def read_sound(ctx: DeserializationContext, response: Response) -> str:
    """Return the bytes of a file as the document has them: as text."""
    return response.content.decode("latin-1")


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
    # What a form has beside deny_unknown_fields is a condition, which its schema cannot have.
    denies = case.media_type == FORM and error["message"].startswith("Unknown parameter:")
    if not denies and not MESSAGES.match(error["message"]):
        raise Failure(
            operation=case.operation.label,
            title="A request that fits the document was refused",
            message=json.dumps(error),
        )
    return None
