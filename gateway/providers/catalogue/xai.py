"""xAI, and its models by what they refuse.

Chat completions: https://docs.x.ai/docs/api-reference#chat-completions
What models that reason refuse: https://docs.x.ai/docs/guides/reasoning
Reasoning tokens: https://docs.x.ai/docs/key-information/consumption-and-rate-limits, read in
gateway.providers.openai_compatible.answers
"""

from __future__ import annotations

import re

from gateway.providers.catalogue.kind import NOT_OPENAIS, ModelFamily, ProviderKind, paths

_PENALTIES = frozenset({"frequency_penalty", "presence_penalty"})
_GROKS = (
    ModelFamily(re.compile(r"grok-.*non-reasoning.*"), drops=_PENALTIES | {"reasoning_effort"}),
    ModelFamily(re.compile(r"grok-3-mini.*"), drops=_PENALTIES | {"stop"}, efforts=("low", "high")),
    ModelFamily(re.compile(r"grok-[23].*"), drops=frozenset({"reasoning_effort"})),
    ModelFamily(
        re.compile(r"grok-(4(-.*|\.20.*)?|build.*|code.*)"),
        drops=_PENALTIES | {"reasoning_effort", "stop"},
    ),
    ModelFamily(
        re.compile(r"grok-4\.3.*"),
        drops=_PENALTIES | {"stop"},
        efforts=("none", "low", "medium", "high"),
    ),
    ModelFamily(
        re.compile(r"grok-\d.*"), drops=_PENALTIES | {"stop"}, efforts=("low", "medium", "high")
    ),
)

KINDS = (
    ProviderKind(
        "xai",
        "xAI",
        "https://api.x.ai/v1",
        "XAI_API_KEY",
        drops=NOT_OPENAIS,
        families=_GROKS,
        # https://docs.x.ai/docs/guides/image-understanding
        pictures=frozenset({"image/jpeg", "image/png"}),
        # https://docs.x.ai/docs/guides/image-generations
        paths=paths("images"),
    ),
)
