"""Servers of OpenAI's API that people run themselves, at the address of their documentation."""

from __future__ import annotations

from gateway.core.chat import OF_ANSWERS
from gateway.providers.catalogue.kind import AUDIO, ProviderKind, paths

# The name that llama.cpp and what is built on it have for it.
_REPEAT_PENALTY = (("repetition_penalty", "repeat_penalty"),)

KINDS = (
    # https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html
    ProviderKind(
        "vllm",
        "vLLM",
        needs_credential=False,
        takes_template_kwargs=True,
        takes_both_limits=True,
        takes_base64=True,
        # https://docs.vllm.ai/en/latest/serving/online_serving/speech_to_text/
        paths=paths("completions", "rerank", "transcriptions", "translations"),
        tells_duration=True,
        streams_whisper=True,
        completes_any_model=True,
    ),
    # https://huggingface.co/docs/text-generation-inference/messages_api, and what the server reads:
    # https://github.com/huggingface/text-generation-inference/blob/main/router/src/lib.rs
    # It passes over what it does not know, in silence.
    ProviderKind(
        "tgi",
        "Text Generation Inference",
        dialect="tgi",
        needs_credential=False,
        takes_developer=False,
        takes=frozenset(
            {
                *("frequency_penalty", "logprobs", "max_tokens", "presence_penalty"),
                *("response_format", "seed", "stop", "temperature", "tool_choice", "tools"),
                *("top_logprobs", "top_p"),
            }
        ),
        takes_many_choices=False,
        takes_effort=False,
        reasoning_field="",
    ),
    # https://docs.sglang.io/docs/advanced_features/structured_outputs
    # https://docs.sglang.io/basic_usage/openai_api_completions.html
    ProviderKind(
        "sglang",
        "SGLang",
        "http://127.0.0.1:30000/v1",
        needs_credential=False,
        takes_template_kwargs=True,
        takes_both_limits=True,
        takes_developer=False,
        paths=paths("completions", "rerank"),
        completes_any_model=True,
    ),
    # https://docs.ollama.com/openai
    ProviderKind(
        "ollama",
        "Ollama",
        "http://127.0.0.1:11434/v1",
        needs_credential=False,
        takes_developer=False,
        drops=frozenset(
            {
                *("ignore_eos", "logit_bias", "min_p", "parallel_tool_calls"),
                *("repetition_penalty", "top_k", "user"),
            }
        ),
        takes_many_choices=False,
        tool_choices=frozenset({"auto"}),
        paths=paths("completions"),
        completes_any_model=True,
    ),
    # https://lmstudio.ai/docs/developer/openai-compat/chat-completions
    # https://lmstudio.ai/docs/developer/openai-compat/structured-output
    ProviderKind(
        "lm_studio",
        "LM Studio",
        "http://127.0.0.1:1234/v1",
        needs_credential=False,
        takes_developer=False,
        renames=_REPEAT_PENALTY,
        drops=frozenset({"ignore_eos", "logprobs", "min_p", "top_logprobs", "user"}),
        takes_many_choices=False,
        tool_choices=frozenset({"none", "auto", "required"}),
        response_formats=frozenset({"json_schema"}),
        paths=paths("completions"),
        completes_any_model=True,
    ),
    # https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md
    ProviderKind(
        "llama_cpp",
        "llama.cpp",
        "http://127.0.0.1:8080/v1",
        needs_credential=False,
        takes_developer=False,
        renames=_REPEAT_PENALTY,
        takes_many_choices=False,
        takes_template_kwargs=True,
        paths=paths("completions", "rerank"),
        completes_any_model=True,
    ),
    # https://localai.io/features/text-generation/
    ProviderKind(
        "localai",
        "LocalAI",
        "http://127.0.0.1:8080/v1",
        needs_credential=False,
        takes_developer=False,
        renames=_REPEAT_PENALTY,
        drops=frozenset({"min_p"}),
        # https://localai.io/features/text-to-audio/, https://localai.io/features/audio-to-text/
        paths=paths("completions", "images", "rerank", "speech", "transcriptions"),
        streams_whisper=True,
        completes_any_model=True,
    ),
    # Whatever is not above: nothing is dropped.
    ProviderKind(
        "openai_compatible",
        "Any server that speaks OpenAI's API",
        needs_credential=False,
        takes_both_limits=True,
        takes_of_answers=OF_ANSWERS,
        takes_reasoning_details=True,
        takes_cache_control=True,
        paths=paths("completions", "images", "moderations", "rerank", *AUDIO),
        streams_whisper=True,
    ),
)
