"""OpenAI's models on Microsoft Azure, by a key or by tokens of Microsoft Entra.

Its v1 API has OpenAI's paths. That of deployments has the deployment in the path, a version in the
query, and no Responses API: it is used where a version is entered. A model's name at the provider
is that of its deployment: name deployments after their models, as what a model takes is known by
its name.

https://learn.microsoft.com/azure/ai-foundry/openai/api-version-lifecycle
https://learn.microsoft.com/azure/ai-foundry/openai/reference
https://learn.microsoft.com/azure/ai-foundry/openai/how-to/reasoning
https://learn.microsoft.com/azure/ai-foundry/openai/how-to/responses: which models take it
https://learn.microsoft.com/azure/ai-services/openai/reference-preview-latest: sound, which v1 has
in its preview alone
"""

from __future__ import annotations

import re
from dataclasses import replace

from gateway.providers.catalogue.kind import (
    ANY_CHOICE,
    AUDIO,
    NOT_OPENAIS,
    ProviderKind,
    paths,
)
from gateway.providers.catalogue.openai import FAMILIES
from gateway.providers.catalogue.setting import ProviderSetting

_SETTINGS = (
    ProviderSetting(
        "resource",
        "Resource",
        required=True,
        pattern=re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*"),
        help="The first part of its host name, before .openai.azure.com.",
        example="contoso-eu",
    ),
    ProviderSetting(
        "api_version",
        "API version",
        pattern=re.compile(r"\d{4}-\d{2}-\d{2}(-preview)?"),
        help="For the deployments API. Leave empty for the v1 API, which has no versions.",
        example="2024-10-21",
    ),
)
# Others are asked for chat completions, as are deployments whose names are not their models'.
_OF_RESPONSES = re.compile(
    r"gpt-(4o(-mini)?|4\.1(-mini|-nano)?)(-\d.*)?|gpt-([5-9]|chat-latest).*|o\d.*|codex-.*"
)
_BY_KEY = ProviderKind(
    "azure_openai",
    "Azure OpenAI",
    "https://{resource}.openai.azure.com/openai",
    settings=_SETTINGS,
    path_prefix="/v1",
    deployment_path="/deployments/{}",
    key_header="api-key",
    limit_field="max_completion_tokens",
    drops=NOT_OPENAIS,
    families=FAMILIES,
    tool_choices=ANY_CHOICE,
    sounds=frozenset({"wav", "mp3"}),
    reasoning_field="",
    takes_of_answers=frozenset({"annotations"}),
    takes_refusals=True,
    takes_base64=True,
    responses_path="responses",
    responses_models=_OF_RESPONSES,
    paths=paths(*AUDIO),
    preview=frozenset(AUDIO),
)
KINDS = (
    _BY_KEY,
    replace(
        _BY_KEY,
        name="azure_openai_entra",
        label="Azure OpenAI (Microsoft Entra)",
        credential="entra",
        key_header="",
    ),
)
