"""OpenAI, and its models by what they refuse.

Reasoning models: https://platform.openai.com/docs/guides/reasoning
GPT-5.1 and later: https://platform.openai.com/docs/guides/latest-model (parameter compatibility)
`stop`: https://platform.openai.com/docs/api-reference/chat/create
Parallel calls of tools: https://learn.microsoft.com/azure/ai-foundry/openai/how-to/reasoning
"""

from __future__ import annotations

import re

from gateway.providers.catalogue.kind import (
    ANY_CHOICE,
    AUDIO,
    NOT_OPENAIS,
    ModelFamily,
    ProviderKind,
    paths,
)

_SAMPLING = frozenset({"temperature", "top_p", "logprobs", "top_logprobs"})
_NOT_REASONINGS = _SAMPLING | {"frequency_penalty", "presence_penalty", "logit_bias", "prediction"}
_OF_REASONING = frozenset({"reasoning_effort", "verbosity"})

FAMILIES = (
    # They search the web for each answer.
    ModelFamily(
        re.compile(r".*-search-(preview|api).*"),
        drops=_NOT_REASONINGS | {"reasoning_effort", "seed"},
    ),
    ModelFamily(re.compile(r"o1.*"), drops=_NOT_REASONINGS | {"parallel_tool_calls", "verbosity"}),
    ModelFamily(
        re.compile(r"o[3-9].*|codex-mini.*"),
        drops=_NOT_REASONINGS | {"parallel_tool_calls", "stop", "verbosity"},
        efforts=("low", "medium", "high"),
    ),
    # Chat alone.
    ModelFamily(re.compile(r"gpt-5-chat.*|chatgpt.*|gpt-(3|4).*"), drops=_OF_REASONING),
    ModelFamily(
        re.compile(r"gpt-5(-.*)?|gpt-5\.\d+-chat.*"),
        drops=_NOT_REASONINGS | {"stop"},
        efforts=("minimal", "low", "medium", "high"),
    ),
    # They reason only if they are asked to.
    ModelFamily(
        re.compile(r"gpt-5\.[1-4].*"),
        drops=_NOT_REASONINGS | {"stop"},
        takes_at_rest=_SAMPLING,
        default_effort="none",
        efforts=("none", "low", "medium", "high", "xhigh"),
    ),
    ModelFamily(
        re.compile(r"gpt-(5\.\d|[6-9]).*"),
        drops=_NOT_REASONINGS | {"stop"},
        takes_at_rest=_SAMPLING,
        default_effort="medium",
        efforts=("none", "low", "medium", "high", "xhigh"),
    ),
)

KINDS = (
    ProviderKind(
        "openai",
        "OpenAI",
        "https://api.openai.com/v1",
        "OPENAI_API_KEY",
        limit_field="max_completion_tokens",
        drops=NOT_OPENAIS,
        families=FAMILIES,
        tool_choices=ANY_CHOICE,
        # https://platform.openai.com/docs/guides/audio
        sounds=frozenset({"wav", "mp3"}),
        # Its answers show none, and unknown fields of messages are refused.
        reasoning_field="",
        takes_of_answers=frozenset({"annotations"}),
        takes_refusals=True,
        takes_base64=True,
        responses_path="responses",
        paths=paths("completions", "images", "moderations", *AUDIO),
        streams_speech=True,
        tells_duration=True,
    ),
)
