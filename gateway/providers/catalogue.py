"""Every kind of provider, one line each: facts that both sides need, no behaviour.

The data plane finds the dialect's adapter by `dialect` (gateway.providers.registry); the control
plane checks what people enter. Adding a look-alike is adding a line.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass


@dataclass(frozen=True, slots=True)
class ProviderKind:
    """base_url: the default, empty when the operator must give one. env_var: where a first
    start looks for its key. limit_field: how this provider spells the output limit.
    takes_both_limits: True where either spelling may go, and the caller's own does.
    takes_developer: False where such messages have to be system's. renames: parameters that have
    another name there, as (ours, theirs).
    wants_usage_option: True when a stream reports usage only if stream_options asks for it.
    drops: parameters that it does not take; they stay here and are named in x-dropped-params.
    takes_many_choices: False where it has no `n`, and a call for several choices is refused.
    omits_finish_reason: True where a stream may end with [DONE] and no finish_reason before it.
    key_path: what answers a GET only with a good key, where the list of models answers without one.
    key_header: which header has the key by itself, where it is no bearer token. headers: what each
    request has beside it. chat_path: where chat completions are asked for.
    takes_base64: True where the documentation says that embeddings can be had in base64.
    """

    name: str
    label: str
    base_url: str = ""
    env_var: str = ""
    _: KW_ONLY
    dialect: str = "openai"
    needs_credential: bool = True
    limit_field: str = "max_tokens"
    takes_both_limits: bool = False
    takes_developer: bool = True
    renames: tuple[tuple[str, str], ...] = ()
    wants_usage_option: bool = True
    drops: frozenset[str] = frozenset()
    takes_many_choices: bool = True
    omits_finish_reason: bool = False
    key_path: str = ""
    key_header: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    chat_path: str = "/chat/completions"
    takes_base64: bool = False

    def headers_with(self, secret: str) -> dict[str, str]:
        """Return the headers that let a request in; secret is empty where there is none."""
        if not secret:
            return dict(self.headers)
        name = self.key_header or "authorization"
        return {**dict(self.headers), name: secret if self.key_header else f"Bearer {secret}"}


# Sampling parameters of vLLM and its like, and one that others have too (contract, section 5.3).
_OF_VLLM = frozenset({"min_p", "repetition_penalty", "ignore_eos"})
_NOT_OPENAIS = _OF_VLLM | {"top_k"}
# Mistral refuses whatever it does not know.
_NOT_MISTRALS = frozenset(
    {
        *("audio", "function_call", "functions", "logit_bias", "logprobs", "modalities"),
        *("prompt_cache_retention", "safety_identifier", "service_tier", "store"),
        *("top_logprobs", "user", "verbosity", "web_search_options"),
    }
)
SIMULATED = "simulated"

ALL: tuple[ProviderKind, ...] = (
    ProviderKind(
        "openai",
        "OpenAI",
        "https://api.openai.com/v1",
        "OPENAI_API_KEY",
        limit_field="max_completion_tokens",
        drops=_NOT_OPENAIS,
        takes_base64=True,
    ),
    ProviderKind(
        "anthropic",
        "Anthropic",
        "https://api.anthropic.com/v1",
        "ANTHROPIC_API_KEY",
        dialect="anthropic",
        takes_many_choices=False,
        key_header="x-api-key",
        headers=(("anthropic-version", "2023-06-01"),),
        chat_path="/messages",
    ),
    ProviderKind(
        "together",
        "Together AI",
        "https://api.together.xyz/v1",
        "TOGETHER_API_KEY",
        takes_developer=False,
        drops=_OF_VLLM,
    ),
    ProviderKind(
        "deepseek",
        "DeepSeek",
        "https://api.deepseek.com/v1",
        "DEEPSEEK_API_KEY",
        takes_developer=False,
        drops=_NOT_OPENAIS,
        takes_many_choices=False,
    ),
    ProviderKind(
        "fireworks",
        "Fireworks AI",
        "https://api.fireworks.ai/inference/v1",
        "FIREWORKS_API_KEY",
        takes_developer=False,
        drops=_OF_VLLM,
    ),
    ProviderKind(
        "hyperbolic",
        "Hyperbolic",
        "https://api.hyperbolic.xyz/v1",
        "HYPERBOLIC_API_KEY",
        takes_developer=False,
        drops=_NOT_OPENAIS,
    ),
    ProviderKind("xai", "xAI", "https://api.x.ai/v1", "XAI_API_KEY", drops=_NOT_OPENAIS),
    ProviderKind(
        "mistral",
        "Mistral AI",
        "https://api.mistral.ai/v1",
        "MISTRAL_API_KEY",
        takes_developer=False,
        wants_usage_option=False,
        renames=(("seed", "random_seed"), ("dimensions", "output_dimension")),
        drops=_NOT_OPENAIS | _NOT_MISTRALS,
        takes_base64=True,
    ),
    ProviderKind(
        "vllm",
        "vLLM",
        needs_credential=False,
        takes_both_limits=True,
        takes_base64=True,
    ),
    ProviderKind(
        "openrouter",
        "OpenRouter",
        "https://openrouter.ai/api/v1",
        "OPENROUTER_API_KEY",
        takes_both_limits=True,
        drops=_OF_VLLM,
        key_path="/key",
    ),
    ProviderKind(
        "inferexchange",
        "InferExchange",
        "https://inferexchange.com/api/v1",
        takes_developer=False,
        takes_many_choices=False,
        omits_finish_reason=True,
    ),
    # SGLang, TGI and the rest of vLLM's family are of this kind: nothing is dropped.
    ProviderKind(
        "openai_compatible",
        "Any server that speaks OpenAI's API",
        needs_credential=False,
        takes_both_limits=True,
    ),
    ProviderKind(
        SIMULATED,
        "Simulated (built in)",
        "simulated://local",
        "",
        needs_credential=False,
        takes_base64=True,
    ),
)
BY_NAME: dict[str, ProviderKind] = {kind.name: kind for kind in ALL}
