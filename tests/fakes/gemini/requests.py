"""What the Gemini API refuses of a request. Wordings as users quote them; sources beside them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from tests.fakes.gemini.contents import refuse_contents
from tests.fakes.gemini.models import MISSING, Model, read_model
from tests.fakes.gemini.refused import Refused
from tests.fakes.gemini.sdk_types import TypeMismatch, judge_request

FUNCTION_NAME = re.compile(r"^[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}$")
MOST_STOPS = 5
INT32 = range(-(2**31), 2**31)


def refuse_caller(headers: Mapping[str, str], right_key: str | None, *, is_vertex: bool) -> None:
    """Raise Refused for what the headers lack. `right_key` None: any key will do."""
    if is_vertex:
        if not headers.get("authorization", "").startswith("Bearer "):
            raise Refused("Request is missing required authentication credential.", 401)
        return
    if "authorization" in headers:  # open-webui/open-webui#9311
        raise Refused("Multiple authentication credentials received.", 400)
    if "x-goog-api-key" not in headers:  # google-gemini/gemini-cli#1502
        raise Refused(
            "Method doesn't allow unregistered callers (callers without established identity).", 403
        )
    if right_key is not None and headers["x-goog-api-key"] != right_key:
        raise Refused("API key not valid. Please pass a valid API key.", reason="API_KEY_INVALID")


def refuse_body(body: dict[str, Any], name: str, *, is_vertex: bool) -> Model:
    """Raise Refused for the first thing that the API would not take. Return the model."""
    if name == MISSING:
        raise Refused(
            f"models/{name} is not found for API version v1beta, or is not supported for"
            " generateContent.",
            404,
        )
    model = read_model(name)
    try:
        judge_request(body)
    except TypeMismatch as error:
        raise Refused(f"Invalid JSON payload received. {error}") from None
    config = body.get("generationConfig") or {}
    _refuse_sampling(config, model)
    _refuse_thinking(config.get("thinkingConfig") or {}, model)
    _refuse_form(config)
    _refuse_tools(body)
    refuse_contents(body, model, is_vertex=is_vertex)
    return model


def _refuse_sampling(config: dict[str, Any], model: Model) -> None:
    temperature, top_p = config.get("temperature", 1), config.get("topP", 1)
    if not 0 <= temperature <= 2:
        raise Refused(
            "* GenerateContentRequest.generation_config.temperature: temperature must be"
            " in the range [0.0, 2.0].\n"
        )
    if not 0 <= top_p <= 1:
        raise Refused(
            "* GenerateContentRequest.generation_config.top_p: top_p must be in the"
            " range [0.0, 1.0].\n"
        )
    if config.get("maxOutputTokens", 1) < 1:
        raise Refused(
            "* GenerateContentRequest.generation_config.max_output_tokens:"
            " max_output_tokens must be positive.\n"
        )
    if config.get("seed", 0) not in INT32:
        raise Refused("Invalid value at 'generation_config.seed' (TYPE_INT32)")
    if len(config.get("stopSequences") or ()) > MOST_STOPS:
        raise Refused("stop_sequences: at most 5 stop sequences are allowed.")
    penalties = (config.get("presencePenalty"), config.get("frequencyPenalty"))
    if any(penalties) and not model.takes_penalties:  # vercel/ai#8943
        raise Refused(f"Penalty is not enabled for models/{model.name}")
    candidates = config.get("candidateCount", 1)
    if candidates > (8 if model.takes_candidates else 1):
        raise Refused("Multiple candidates is not enabled for this model")


def _refuse_thinking(thinking: dict[str, Any], model: Model) -> None:
    level, budget = thinking.get("thinkingLevel"), thinking.get("thinkingBudget")
    if level is not None and budget is not None:
        raise Refused("You can only set only one of thinking budget and thinking level.")
    if thinking and model.generation < (2, 5):
        raise Refused(f"Thinking is not enabled for models/{model.name}")
    if level is not None and level not in model.levels:  # earendil-works/pi#9455
        raise Refused(
            f"Thinking level {level} is not supported for this model. Please retry with other"
            " thinking level."
        )
    if budget is None or budget == -1 or budget in model.budgets:
        return
    if model.levels or budget or not model.takes_no_budget:
        raise Refused(
            f"The thinking budget {budget} is invalid. Please choose a value between"
            f" {model.budgets.start} and {model.budgets.stop - 1}."
        )


def _refuse_form(config: dict[str, Any]) -> None:
    kind = config.get("responseMimeType", "text/plain")
    if kind not in ("text/plain", "application/json", "text/x.enum"):
        raise Refused(f"response_mime_type: allowed mimetypes are `text/plain`, ... not {kind}")
    if kind == "text/plain" and ("responseJsonSchema" in config or "responseSchema" in config):
        raise Refused("response_schema only supported with JSON response mime type.")
    if "logprobs" in config and not config.get("responseLogprobs"):
        raise Refused("Logprobs count is only valid if responseLogprobs is true.")


def _refuse_tools(body: dict[str, Any]) -> None:
    functions = [
        f for tool in body.get("tools") or () for f in tool.get("functionDeclarations", ())
    ]
    names = [function.get("name", "") for function in functions]
    for place, name in enumerate(names):
        if not FUNCTION_NAME.match(name):  # google-gemini/gemini-cli#2093
            raise Refused(
                f"* GenerateContentRequest.tools[0].function_declarations[{place}].name: Invalid"
                " function name. Must start with a letter or an underscore."
            )
        if names.count(name) > 1:
            raise Refused(f"Duplicate function declaration found: {name}")
    config = (body.get("toolConfig") or {}).get("functionCallingConfig") or {}
    if config and not names:
        raise Refused("Function calling config is set without function_declarations.")
    allowed = config.get("allowedFunctionNames")
    if allowed and config.get("mode") not in ("ANY", "VALIDATED"):
        raise Refused("Please set allowed_function_names only when function calling mode is ANY.")
    if set(allowed or ()) - set(names):
        raise Refused("allowed_function_names should be a subset of function declarations.")
