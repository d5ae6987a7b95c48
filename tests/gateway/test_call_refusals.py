"""What a test call says of each refusal, in the words of each dialect."""

from __future__ import annotations

import json

import pytest

from gateway.outbound.findings import Outcome
from tests.support.checked_calls import MODEL, SECRET, answering, check

FAULTS: dict[str, tuple[str, int, object, Outcome, str]] = {
    "openai, key": (
        "openai",
        401,
        {"error": {"message": f"Incorrect API key provided: {SECRET}.", "code": "invalid_api_key"}},
        Outcome.KEY_REFUSED,
        "The credential was rejected: the provider answered 401 (Unauthorized).",
    ),
    "openai, model": (
        "openai",
        404,
        {"error": {"message": f"The model `{MODEL}` does not exist.", "code": "model_not_found"}},
        Outcome.UNKNOWN_MODEL,
        f"The provider has no model {MODEL}, or this credential may not use it: the provider "
        "answered 404 (Not Found).",
    ),
    "openai, quota": (
        "openai",
        429,
        {"error": {"message": "You exceeded your current quota.", "code": "insufficient_quota"}},
        Outcome.QUOTA,
        "its quota is used up or its account has no credit",
    ),
    "openai, rate": (
        "openai",
        429,
        {"error": {"message": "Rate limit reached for requests."}},
        Outcome.QUOTA,
        "its rate limit is exceeded: the provider answered 429 (Too Many Requests). Try again in "
        "7 s.",
    ),
    "deepseek, balance": (
        "deepseek",
        402,
        {"error": {"message": "Insufficient Balance"}},
        Outcome.QUOTA,
        "answered 402 (Payment Required)",
    ),
    "openai, limit": (
        "openai",
        400,
        {"error": {"message": "Could not finish the message because max_tokens was reached."}},
        Outcome.SERVED,
        "with no text yet",
    ),
    "openai, rejected": (
        "openai",
        400,
        {"error": {"message": "Bad things.", "type": "invalid_request_error"}},
        Outcome.REJECTED,
        "The provider rejected the request: Bad things.",
    ),
    "anthropic, key": (
        "anthropic",
        401,
        {
            "type": "error",
            "error": {"type": "authentication_error", "message": "invalid x-api-key"},
        },
        Outcome.KEY_REFUSED,
        "The credential was rejected",
    ),
    "anthropic, model": (
        "anthropic",
        404,
        {"type": "error", "error": {"type": "not_found_error", "message": f"model: {MODEL}"}},
        Outcome.UNKNOWN_MODEL,
        MODEL,
    ),
    "anthropic, credit": (
        "anthropic",
        400,
        {
            "type": "error",
            "error": {
                "type": "invalid_request_error",
                "message": "Your credit balance is too low to access the Anthropic API.",
            },
        },
        Outcome.QUOTA,
        "has no credit",
    ),
    "anthropic, overloaded": (
        "anthropic",
        529,
        {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
        Outcome.BAD_STATUS,
        "the provider answered 529",
    ),
    "gemini, key": (
        "google_ai_studio_gemini",
        400,
        {
            "error": {
                "code": 400,
                "message": "API key not valid. Please pass a valid API key.",
                "status": "INVALID_ARGUMENT",
                "details": [{"reason": "API_KEY_INVALID"}],
            }
        },
        Outcome.KEY_REFUSED,
        "The credential was rejected: the provider answered 400 (Bad Request).",
    ),
    "gemini, model": (
        "google_ai_studio_gemini",
        404,
        {
            "error": {
                "code": 404,
                "message": f"models/{MODEL} is not found for API version v1beta.",
                "status": "NOT_FOUND",
            }
        },
        Outcome.UNKNOWN_MODEL,
        MODEL,
    ),
    "gemini, quota": (
        "google_ai_studio_gemini",
        429,
        {
            "error": {
                "code": 429,
                "message": "You exceeded your current quota, please check your plan.",
                "status": "RESOURCE_EXHAUSTED",
            }
        },
        Outcome.QUOTA,
        "quota is used up",
    ),
    "vertex, model": (
        "gcp_vertex_gemini",
        403,
        {
            "error": {
                "code": 403,
                "message": f"Permission denied on resource projects/p/models/{MODEL}.",
                "status": "PERMISSION_DENIED",
            }
        },
        Outcome.UNKNOWN_MODEL,
        "may not use it",
    ),
    "bedrock, model": (
        "aws_bedrock",
        400,
        {"message": "The provided model identifier is invalid."},
        Outcome.UNKNOWN_MODEL,
        "may not use it",
    ),
    "bedrock, key": (
        "aws_bedrock",
        403,
        {"message": "The security token included in the request is invalid."},
        Outcome.KEY_REFUSED,
        "answered 403 (Forbidden)",
    ),
    "azure, deployment": (
        "azure_openai",
        404,
        {"error": {"code": "DeploymentNotFound", "message": "The API deployment does not exist."}},
        Outcome.UNKNOWN_MODEL,
        MODEL,
    ),
    "cohere, model": (
        "cohere",
        404,
        {"message": f"model '{MODEL}' not found, make sure the correct model ID was used."},
        Outcome.UNKNOWN_MODEL,
        MODEL,
    ),
    "vllm, path": (
        "vllm",
        404,
        {"detail": "Not Found"},
        Outcome.NOT_FOUND,
        "No API at this path: /chat/completions answered 404 (Not Found). Check the base URL.",
    ),
    "a redirect": ("openai", 301, b"", Outcome.REDIRECT, "redirects (301 (Moved Permanently))"),
    "a page": ("openai", 200, b"<html>", Outcome.BAD_ANSWER, "not like this kind of provider"),
    "a failure": ("openai", 500, {}, Outcome.BAD_STATUS, "500 (Internal Server Error)"),
}


@pytest.mark.parametrize(
    ("kind", "status", "body", "outcome", "words"), FAULTS.values(), ids=FAULTS
)
def test_each_refusal_has_its_sentence(
    kind: str, status: int, body: object, outcome: Outcome, words: str
) -> None:
    with answering(status, body, {"retry-after": "7"}) as origin:
        settings = {"project": "p", "location": "eu", "region": "eu-west-1", "resource": "r"}
        found = check(origin, kind=kind, settings=settings)

    assert (found.outcome, words in found.message) == (outcome, True), found
    assert SECRET not in str(found)


def test_without_a_credential_the_provider_asks_for_one() -> None:
    with answering(401, {}) as origin:
        found = check(origin, secret="")

    assert found.message == (
        "The provider requires a credential: the provider answered 401 (Unauthorized)."
    )


def test_a_limit_that_is_too_low_is_raised_once() -> None:
    said = {"error": {"message": "max_output_tokens must be at least 16."}}
    asked: list[bytes] = []
    with answering(400, said, asked=asked) as origin:
        found = check(origin)

    assert (found.outcome, "at least 16" in found.message) == (Outcome.REJECTED, True)
    assert [json.loads(body)["max_tokens"] for body in asked] == [1, 16]
