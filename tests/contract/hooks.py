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

# Codes that are about something else than the schema.
CODES = {
    "audio_not_supported_by_model",
    "context_length_exceeded",
    "file_not_found",
    "image_not_supported_by_model",
    "idempotency_mismatch",  # 422 elsewhere, 400 where the profile is hyperinfer
    "invalid_file",
    "model_not_found",  # 404 elsewhere, likewise
    "pdf_not_supported_by_model",
    "unsupported_parameter",
}
MESSAGES = re.compile(
    "|".join(
        (
            # What has to agree with something elsewhere in the request.
            r"There are two tools called",
            r"tool_choice names .* not among the tools",
            r"Only one of .* can be given",
            r".* and response_format cannot both be given",
            r"start must be before end",
            # JSON Schema takes 1.0 for an integer; we do not.
            r"\S+: Expected `int( \| null)?`, got `float`",
            # What is a language of its own.
            r"\S+ does not compile",
            r"\S+ is not a JSON Schema",
            r"\S+ may only refer to itself",
            r"\S+ is not JSON\.",
            # Which spellings of a file are complete, and which moments anybody can mean.
            r"A file needs file_data, data or file_id",
            r"The address must begin with https:// or http://",
            r"The episode id is of the future",
            r"(start|end) must be of the years",
            # What another product does not take, where its profile is asked for.
            r"(n|reasoning_effort) (can only be|is one of) .* here",
        )
    ),
    re.DOTALL,
)


A_MODEL = "tollhouse/simulated"


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
    code = error.get("details", {}).get("code", error["code"])  # as the profile words it
    if code not in CODES and not MESSAGES.match(error["message"]):
        raise Failure(
            operation=case.operation.label,
            title="A request that fits the document was refused",
            message=json.dumps(error),
        )
    return None
