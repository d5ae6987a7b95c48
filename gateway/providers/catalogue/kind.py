"""What the gateway has to know of a kind of provider."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field

from gateway.providers.catalogue.setting import ProviderSetting

# What no provider is without, in one spelling or another.
ALWAYS_TAKEN = frozenset(
    {"model", "messages", "stream", "stream_options", "n", "max_tokens", "max_completion_tokens"}
)
# The format of requests to /responses.
RESPONSES = "openai_responses"
ANY_CHOICE = frozenset({"none", "auto", "required", "function", "allowed_tools"})
ANY_FORMAT = frozenset({"json_object", "json_schema"})


@dataclass(frozen=True, slots=True)
class ModelFamily:
    """Models that take less than others of their provider do."""

    # What their whole names match at the provider, without a publisher or a fine-tuning.
    pattern: re.Pattern[str]
    _: KW_ONLY
    # Parameters that they refuse.
    drops: frozenset[str] = frozenset()
    # Those of them that they take while they do not reason.
    takes_at_rest: frozenset[str] = frozenset()
    # The effort that they make unless they are told another.
    default_effort: str = ""
    # The efforts that they know, the least first; empty where that does not matter.
    efforts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ProviderKind:
    """A row of the catalogue. What is not said is as OpenAI's documentation has it."""

    name: str
    label: str
    # The default; empty when the operator must give one. {name} stands for the setting of the name.
    base_url: str = ""
    # Where a first start looks for its key.
    env_var: str = ""
    _: KW_ONLY
    # Where else, in this order.
    other_env_vars: tuple[str, ...] = ()
    # Which adapters translate for it (gateway.providers.registry).
    dialect: str = "openai"
    # The dialect of its bodies, where that is another's: a cloud serves that API in its own way.
    serves: str = ""
    needs_credential: bool = True
    # What the credential is: `key`, sent as it is; `google`, `aws` or `entra`, of which tokens are
    # made; `none`.
    credential: str = "key"
    # What else operators enter.
    settings: tuple[ProviderSetting, ...] = ()
    # Other defaults of the address, as (a setting, its value, the address).
    base_urls: tuple[tuple[str, str, str], ...] = ()
    # How it spells the output limit.
    limit_field: str = "max_tokens"
    # Either spelling may go, and the caller's own does.
    takes_both_limits: bool = False
    # False where messages of a developer have to be system's.
    takes_developer: bool = True
    # Parameters that have another name there, as (ours, theirs).
    renames: tuple[tuple[str, str], ...] = ()
    # A stream reports usage only if stream_options asks for it.
    wants_usage_option: bool = True
    # Parameters that it does not take: they stay here and are named in x-dropped-params.
    drops: frozenset[str] = frozenset()
    # All parameters that it takes, where it refuses every other; empty where it does not.
    takes: frozenset[str] = frozenset()
    # Models that take less, the first that matches.
    families: tuple[ModelFamily, ...] = ()
    # False where it has no `n`: a call for several choices is refused.
    takes_many_choices: bool = True
    # What tool_choice may be. Another is refused, but for "none", which is as good as no tools, and
    # "allowed_tools", which is as good as those tools alone.
    tool_choices: frozenset[str] = ANY_CHOICE - {"allowed_tools"}
    # What response_format may be besides text.
    response_formats: frozenset[str] = ANY_FORMAT
    # Which formats of sounds it takes, and which types of pictures; None where any may go there.
    sounds: frozenset[str] | None = None
    pictures: frozenset[str] | None = None
    # It takes reasoning_effort.
    takes_effort: bool = True
    # How reasoning is switched on and off: "thinking" for {"type": "enabled"}, "reasoning" for
    # {"enabled": true}, "enable_thinking" for a bool; empty where it is not.
    thinking_switch: str = ""
    # It takes chat_template_kwargs.
    takes_template_kwargs: bool = False
    # Which field of a message has earlier reasoning; empty where none has, None where callers may
    # send any.
    reasoning_field: str | None = None
    # Reasoning comes, and goes back, in <think> tags at the beginning of the text.
    thinks_in_content: bool = False
    # False where a message has no name.
    takes_names: bool = True
    # It refuses conversations in another order, or with other IDs, than Mistral's models know
    # (gateway.providers.openai_compatible.conversations).
    checks_conversations: bool = False
    # A stream may end with [DONE] and no finish_reason before it.
    omits_finish_reason: bool = False
    # Each piece of a stream has all that was said before it.
    repeats_answer: bool = False
    # What answers a GET only with a good key, where the list of models answers without one.
    key_path: str = ""
    # Which header has the key by itself, where it is no bearer token.
    key_header: str = ""
    # What each request has beside the key.
    headers: tuple[tuple[str, str], ...] = ()
    # What comes between the address and each path.
    path_prefix: str = ""
    # The same, with the model's name in it, where api_version is set: that goes into the query.
    deployment_path: str = ""
    # Where chat completions are asked for.
    chat_path: str = "/chat/completions"
    # The documentation says that embeddings can be had in base64.
    takes_base64: bool = False
    # False where inputs of embeddings have to be texts.
    takes_token_ids: bool = True
    # Inputs of embeddings, or documents to rank, that one request may have; 0 for as many as
    # callers may send.
    most_inputs: int = 0
    # Where it takes requests in OpenAI's Responses format, relative to the address; empty where it
    # does not.
    responses_path: str = ""
    # The models that take them, by their whole names; None for all.
    responses_models: re.Pattern[str] | None = None
    # Which fields of an earlier answer messages may have, of those that no model reads.
    takes_of_answers: frozenset[str] = frozenset()
    # Messages may have reasoning_details (gateway.core.reasoning).
    takes_reasoning_details: bool = False
    # False where messages have no refusals.
    takes_refusals: bool = False
    # Messages and tools may have cache_control.
    takes_cache_control: bool = False
    # Where other operations than chat and embeddings are asked for, relative to the address. Those
    # that are not there it does not have.
    paths: Mapping[str, str] = field(default_factory=dict)
    # Speech can be had as events, which alone tell its tokens.
    streams_speech: bool = False
    # Each transcript says how long the recording was; others say it in verbose_json alone.
    tells_duration: bool = False
    # Whisper's transcripts can be had in pieces; elsewhere they come whole whatever is asked for.
    streams_whisper: bool = False
    # All that a request for a transcript may say beside the model and the file, where that is not
    # as OpenAI has it: there is one form of answers then, and lists are fields of one name.
    transcript_fields: frozenset[str] = frozenset()
    # Operations that the preview of its API has alone.
    preview: frozenset[str] = frozenset()
    # Models for chat complete texts, too. Where that is not known, their prompt goes to their chat.
    completes_any_model: bool = False

    @property
    def body_dialect(self) -> str:
        return self.serves or self.dialect

    def takes_body(self, dialect: str, native_model: str, settings: Mapping[str, str]) -> bool:
        """Return whether a request in this format can go to a model as the caller wrote it."""
        if dialect != RESPONSES or not self.responses_path:
            return dialect == self.body_dialect
        if self.deployments_version(settings):
            return False
        return self.responses_models is None or bool(self.responses_models.fullmatch(native_model))

    def deployments_version(self, settings: Mapping[str, str]) -> str:
        """Return the version of the API of deployments, empty where calls go to another."""
        return settings.get("api_version", "") if self.deployment_path else ""

    def taken_unseen(self, supported: frozenset[str]) -> frozenset[str]:
        """Return which of a dialect's fields this kind takes whatever is in them."""
        taken = supported & (self.takes | ALWAYS_TAKEN) if self.takes else supported
        taken -= self.drops.union(*[family.drops for family in self.families])
        if self.response_formats != ANY_FORMAT:
            taken -= {"response_format"}
        if not self.takes_names:
            taken -= {"messages"}
        if not self.takes_token_ids:
            taken -= {"input"}
        return taken

    @property
    def takes_functions(self) -> bool:
        """Return whether messages may have calls of functions as they were before tools."""
        return "functions" not in self.drops and (not self.takes or "functions" in self.takes)

    @property
    def env_vars(self) -> tuple[str, ...]:
        """Return every variable that its key may be in."""
        return (self.env_var, *self.other_env_vars) if self.env_var else ()

    def headers_with(self, secret: str) -> dict[str, str]:
        """Return the headers that let a request in; secret is empty where there is none."""
        headers = dict(self.headers) if self.headers else {}
        if secret and self.key_header:
            headers[self.key_header] = secret
        elif secret:
            headers["authorization"] = f"Bearer {secret}"
        return headers

    def complete(self, given: Mapping[str, str]) -> dict[str, str]:
        """Return the settings that apply where these are given: defaults for the rest."""
        found = {each.name: given.get(each.name) or each.default for each in self.settings}
        return {name: value for name, value in found.items() if value}

    def fill_base_url(self, given: Mapping[str, str]) -> str:
        """Return the default address under these settings, empty where there is none."""
        settings = defaultdict(str, self.complete(given))
        for name, value, url in self.base_urls:
            if settings[name] == value:
                return url.format_map(settings)
        return self.base_url.format_map(settings)


# Where OpenAI has the operations that are not called as their path is.
_PATHS = {
    "images": "images/generations",
    "speech": "audio/speech",
    "transcriptions": "audio/transcriptions",
    "translations": "audio/translations",
}
AUDIO = ("speech", "transcriptions", "translations")


def paths(*operations: str) -> dict[str, str]:
    """Return the operations that a provider has at OpenAI's paths."""
    return {operation: _PATHS.get(operation, operation) for operation in operations}


# Sampling parameters of vLLM and its like, and one that others have too.
OF_VLLM = frozenset({"min_p", "repetition_penalty", "ignore_eos"})
NOT_OPENAIS = OF_VLLM | {"top_k"}
