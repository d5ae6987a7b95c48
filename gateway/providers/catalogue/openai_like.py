"""Providers that are reached over the internet and speak OpenAI's API. Above each is where it says
so. Where a provider's documentation says nothing, the spelling is used that every server takes:
max_tokens, and system messages.
"""

from __future__ import annotations

import re

from gateway.core.chat import OF_ANSWERS
from gateway.providers.catalogue.kind import (
    ANY_CHOICE,
    AUDIO,
    NOT_OPENAIS,
    OF_VLLM,
    ModelFamily,
    ProviderKind,
    paths,
)
from gateway.providers.catalogue.openai import FAMILIES as OPENAIS_MODELS
from gateway.providers.catalogue.setting import ProviderSetting

# Mistral refuses whatever it does not know.
_NOT_MISTRALS = frozenset(
    {
        *("audio", "function_call", "functions", "ignore_eos", "logit_bias", "min_p"),
        *("modalities", "prompt_cache_retention", "safety_identifier", "service_tier", "store"),
        *("user", "verbosity", "web_search_options"),
    }
)
_LOGPROBS = frozenset({"logprobs", "top_logprobs"})
_PENALTIES = frozenset({"frequency_penalty", "presence_penalty"})
# What only OpenAI has a use for.
_OPENAIS = frozenset(
    {
        *("audio", "function_call", "functions", "metadata", "modalities", "prediction"),
        *("prompt_cache_key", "prompt_cache_retention", "safety_identifier", "service_tier"),
        *("store", "verbosity", "web_search_options"),
    }
)
_TOOLS = frozenset({"tools", "tool_choice"})
_SIMPLE = frozenset({"temperature", "top_p", "stop", "response_format", *_TOOLS})
# It does not say whether a schema is kept to.
_JSON_ALONE = frozenset({"json_object"})
_AUTO = frozenset({"none", "auto"})
KINDS = (
    # https://docs.together.ai/reference/chat-completions-1
    ProviderKind(
        "together",
        "Together AI",
        "https://api.together.xyz/v1",
        "TOGETHER_API_KEY",
        takes_developer=False,
        drops=OF_VLLM,
        # https://docs.together.ai/reference/completions-1, …/rerank-1, …/post-images-generations,
        # …/audio-speech, …/audio-transcriptions, …/audio-translations
        paths=paths("completions", "images", "rerank", *AUDIO),
        completes_any_model=True,
    ),
    # https://api-docs.deepseek.com/api/create-chat-completion
    # https://api-docs.deepseek.com/guides/thinking_mode: reasoning goes back with calls of tools
    ProviderKind(
        "deepseek",
        "DeepSeek",
        "https://api.deepseek.com/v1",
        "DEEPSEEK_API_KEY",
        takes_developer=False,
        drops=NOT_OPENAIS,
        takes_many_choices=False,
        # https://api-docs.deepseek.com/guides/fim_completion
        paths={"completions": "../beta/completions"},
        response_formats=_JSON_ALONE,
        thinking_switch="thinking",
        reasoning_field="reasoning_content",
    ),
    # https://docs.fireworks.ai/api-reference/post-chatcompletions
    # https://docs.fireworks.ai/structured-responses/structured-output-grammar-based
    ProviderKind(
        "fireworks",
        "Fireworks AI",
        "https://api.fireworks.ai/inference/v1",
        "FIREWORKS_API_KEY",
        takes_developer=False,
        drops=OF_VLLM,
        # https://docs.fireworks.ai/api-reference/post-completions, …/rerank-documents
        paths=paths("completions", "rerank"),
        completes_any_model=True,
    ),
    # https://docs.hyperbolic.xyz/docs/rest-api, https://docs.hyperbolic.ai/inference/text-apis: the
    # roles and the parameters that they list, and the paths of text models.
    ProviderKind(
        "hyperbolic",
        "Hyperbolic",
        "https://api.hyperbolic.xyz/v1",
        "HYPERBOLIC_API_KEY",
        takes_developer=False,
        drops=NOT_OPENAIS,
        paths=paths("completions"),
    ),
    # https://docs.mistral.ai/api/endpoint/chat
    ProviderKind(
        "mistral",
        "Mistral AI",
        "https://api.mistral.ai/v1",
        "MISTRAL_API_KEY",
        takes_developer=False,
        wants_usage_option=False,
        renames=(("seed", "random_seed"), ("dimensions", "output_dimension")),
        drops=_NOT_MISTRALS,
        reasoning_field="",
        takes_names=False,
        checks_conversations=True,
        takes_base64=True,
        # https://docs.mistral.ai/api/#tag/fim, …#tag/classifiers
        # https://docs.mistral.ai/api/endpoint/audio/transcriptions
        paths=paths("moderations", "transcriptions") | {"completions": "fim/completions"},
        tells_duration=True,
        transcript_fields=frozenset(
            {
                *("context_bias", "diarize", "language", "stream", "temperature"),
                "timestamp_granularities",
            }
        ),
    ),
    # https://console.groq.com/docs/openai: logprobs, logit_bias, top_logprobs, names of messages
    # and n > 1 are answered with 400
    # https://console.groq.com/docs/api-reference: the others
    ProviderKind(
        "groq",
        "Groq",
        "https://api.groq.com/openai/v1",
        "GROQ_API_KEY",
        limit_field="max_completion_tokens",
        # https://console.groq.com/docs/speech-to-text, …/text-to-speech
        paths=paths(*AUDIO),
        takes_developer=False,
        takes=frozenset(
            {
                *("temperature", "top_p", "stop", "seed", "frequency_penalty", "presence_penalty"),
                *("tools", "tool_choice", "parallel_tool_calls", "functions", "function_call"),
                *("response_format", "reasoning_effort", "user", "metadata", "service_tier"),
                "store",
            }
        ),
        takes_many_choices=False,
        reasoning_field="reasoning",
        takes_names=False,
    ),
    # https://docs.perplexity.ai/api-reference/chat-completions-post
    # https://docs.perplexity.ai/docs/sonar/openai-compatibility
    ProviderKind(
        "perplexity",
        "Perplexity",
        "https://api.perplexity.ai",
        "PERPLEXITY_API_KEY",
        takes_developer=False,
        takes=frozenset(
            {
                *("temperature", "top_p", "top_k", "frequency_penalty", "presence_penalty"),
                *("response_format", "reasoning_effort", "stop", "web_search_options"),
            }
        ),
        wants_usage_option=False,
        takes_many_choices=False,
        response_formats=frozenset({"json_schema"}),
        reasoning_field="",
        thinks_in_content=True,
        # https://docs.perplexity.ai/docs/sonar/pro-search/stream-mode
        repeats_answer=True,
        takes_names=False,
    ),
    # https://inference-docs.cerebras.ai/resources/openai: what is answered with 400, and that
    # developers' messages are not exposed
    # https://inference-docs.cerebras.ai/api-reference/chat-completions
    ProviderKind(
        "cerebras",
        "Cerebras",
        "https://api.cerebras.ai/v1",
        "CEREBRAS_API_KEY",
        limit_field="max_completion_tokens",
        takes_developer=False,
        takes=frozenset(
            {
                *("temperature", "top_p", "stop", "seed", "logprobs", "top_logprobs", "user"),
                *("response_format", "reasoning_effort", "tools", "tool_choice"),
            }
        ),
        takes_many_choices=False,
        reasoning_field="reasoning",
    ),
    # https://docs.sambanova.ai/docs/en/features/openai-compatibility
    # https://github.com/sambanova/sambanova-python/blob/main/src/sambanova/types/chat/completion_create_params.py
    ProviderKind(
        "sambanova",
        "SambaNova",
        "https://api.sambanova.ai/v1",
        "SAMBANOVA_API_KEY",
        takes_developer=False,
        takes=_SIMPLE | {"top_k", "parallel_tool_calls", "reasoning_effort"},
        takes_many_choices=False,
        reasoning_field="",
    ),
    # https://docs.tokenfactory.nebius.com/api-reference/inference/create-chat-completion
    ProviderKind(
        "nebius",
        "Nebius Token Factory",
        "https://api.tokenfactory.nebius.com/v1",
        "NEBIUS_API_KEY",
        takes_developer=False,
        drops=NOT_OPENAIS | _OPENAIS - {"service_tier", "store", "metadata"},
    ),
    # https://novita.ai/docs/api-reference/model-apis-llm-create-chat-completion
    ProviderKind(
        "novita",
        "Novita AI",
        "https://api.novita.ai/openai/v1",
        "NOVITA_API_KEY",
        takes_developer=False,
        drops=_OPENAIS | {"ignore_eos", "parallel_tool_calls", "reasoning_effort", "user"},
        tool_choices=_AUTO | {"required", "function"},
    ),
    # https://platform.kimi.ai/docs/api/chat
    # https://platform.kimi.ai/docs/api/models-overview: what is fixed for Kimi
    ProviderKind(
        "moonshot",
        "Moonshot AI",
        "https://api.moonshot.ai/v1",
        "MOONSHOT_API_KEY",
        limit_field="max_completion_tokens",
        takes_developer=False,
        drops=NOT_OPENAIS
        | _LOGPROBS
        | (_OPENAIS - {"prompt_cache_key", "safety_identifier"})
        | {"logit_bias", "parallel_tool_calls", "seed", "user"},
        families=(
            ModelFamily(
                re.compile(r"kimi-k[3-9].*"),
                drops=_PENALTIES | {"temperature", "top_p"},
                efforts=("low", "high", "max"),
            ),
            ModelFamily(
                re.compile(r"kimi.*"),
                drops=_PENALTIES | {"temperature", "top_p", "reasoning_effort"},
            ),
            ModelFamily(re.compile(r"moonshot.*"), drops=frozenset({"reasoning_effort"})),
        ),
        tool_choices=_AUTO,
        response_formats=_JSON_ALONE,
        thinking_switch="thinking",
        reasoning_field="reasoning_content",
    ),
    # https://docs.z.ai/api-reference/llm/chat-completion
    # https://docs.z.ai/guides/capabilities/thinking-mode
    ProviderKind(
        "zai",
        "Z.ai",
        "https://api.z.ai/api/paas/v4",
        "ZAI_API_KEY",
        takes_developer=False,
        renames=(("user", "user_id"),),
        wants_usage_option=False,
        takes=_SIMPLE | {"user", "user_id"},
        takes_many_choices=False,
        tool_choices=frozenset({"auto"}),
        response_formats=_JSON_ALONE,
        takes_effort=False,
        thinking_switch="thinking",
        reasoning_field="reasoning_content",
        takes_names=False,
    ),
    # https://www.alibabacloud.com/help/en/model-studio/qwen-api-via-openai-chat-completions
    # https://www.alibabacloud.com/help/en/model-studio/json-mode
    ProviderKind(
        "dashscope",
        "Alibaba Cloud Model Studio (DashScope)",
        "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
        "DASHSCOPE_API_KEY",
        takes_developer=False,
        drops=(_OPENAIS - {"audio", "modalities"})
        | {"frequency_penalty", "ignore_eos", "logit_bias", "min_p", "user"},
        tool_choices=_AUTO | {"function"},
        takes_effort=False,
        thinking_switch="enable_thinking",
        reasoning_field="reasoning_content",
    ),
    # https://platform.minimax.io/docs/api-reference/text-openai-api
    ProviderKind(
        "minimax",
        "MiniMax",
        "https://api.minimax.io/v1",
        "MINIMAX_API_KEY",
        limit_field="max_completion_tokens",
        takes_developer=False,
        takes=frozenset({"temperature", "top_p", *_TOOLS}),
        takes_many_choices=False,
        tool_choices=_AUTO,
        reasoning_field="",
        thinks_in_content=True,
    ),
    # https://docs.api.nvidia.com/nim/reference/llm-apis
    ProviderKind(
        "nvidia_nim",
        "NVIDIA NIM",
        "https://integrate.api.nvidia.com/v1",
        "NVIDIA_API_KEY",
        takes_developer=False,
        drops=NOT_OPENAIS | _OPENAIS | {"logit_bias", "parallel_tool_calls", "user"},
        takes_many_choices=False,
    ),
    # https://huggingface.co/docs/inference-providers/tasks/chat-completion. HF_TOKEN is in many
    # environments for downloads, so that it makes no provider.
    ProviderKind(
        "huggingface",
        "Hugging Face Inference Providers",
        "https://router.huggingface.co/v1",
        takes_developer=False,
        drops=NOT_OPENAIS | _OPENAIS | {"parallel_tool_calls", "user"},
        takes_many_choices=False,
    ),
    # https://docs.github.com/en/rest/models/inference. GITHUB_TOKEN is in many environments for
    # other ends, so that it makes no provider.
    ProviderKind(
        "github_models",
        "GitHub Models",
        "https://models.github.ai/inference",
        headers=(("x-github-api-version", "2022-11-28"),),
        drops=NOT_OPENAIS
        | (_OPENAIS - {"modalities"})
        | _LOGPROBS
        | {"logit_bias", "parallel_tool_calls", "user"},
        families=OPENAIS_MODELS,
        takes_many_choices=False,
        tool_choices=_AUTO | {"required"},
        reasoning_field="",
        takes_names=False,
    ),
    # https://developers.cloudflare.com/workers-ai/configuration/open-ai-compatibility/
    # https://developers.cloudflare.com/workers-ai/models/ (parameters of each model)
    ProviderKind(
        "cloudflare",
        "Cloudflare Workers AI",
        "https://api.cloudflare.com/client/v4/accounts/{account_id}/ai/v1",
        settings=(
            ProviderSetting(
                "account_id",
                "Account ID",
                required=True,
                help="On the overview page of Workers & Pages.",
                example="023e105f4ecef8ad9ca31a8372d0c353",
            ),
        ),
        takes_developer=False,
        drops=_OPENAIS
        | _LOGPROBS
        | {"ignore_eos", "logit_bias", "min_p", "parallel_tool_calls", "user"},
        takes_many_choices=False,
    ),
    # https://deepinfra.com/docs/advanced/openai_api
    # https://docs.deepinfra.com/api-reference/openai-audio-speech-1, …/openai-audio-translations-1
    ProviderKind(
        "deepinfra",
        "DeepInfra",
        "https://api.deepinfra.com/v1/openai",
        "DEEPINFRA_API_KEY",
        takes_developer=False,
        drops=(_OPENAIS - {"prompt_cache_key"}) | {"ignore_eos", "parallel_tool_calls"},
        tool_choices=ANY_CHOICE - {"allowed_tools"},
        paths=paths(*AUDIO),
    ),
    # https://openrouter.ai/docs/guides/best-practices/reasoning-tokens
    ProviderKind(
        "openrouter",
        "OpenRouter",
        "https://openrouter.ai/api/v1",
        "OPENROUTER_API_KEY",
        takes_both_limits=True,
        drops=OF_VLLM,
        thinking_switch="reasoning",
        key_path="/key",
        takes_of_answers=OF_ANSWERS,
        takes_refusals=True,
        takes_reasoning_details=True,
        # https://openrouter.ai/docs/api-reference/completion
        paths=paths("completions"),
        completes_any_model=True,
        takes_cache_control=True,
    ),
    ProviderKind(
        "inferexchange",
        "InferExchange",
        "https://inferexchange.com/api/v1",
        takes_developer=False,
        takes_many_choices=False,
        omits_finish_reason=True,
    ),
)
