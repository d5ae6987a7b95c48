"""What a chat completion asks for beside its messages and tools, in Converse's words.

Reference: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html
A few parameters are the same for all models (inferenceConfig, outputConfig); what only some take is
in additionalModelRequestFields, in their makers' words. Claude's are those of Anthropic's own API.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from gateway.core.errors import UnsupportedParameter
from gateway.providers.anthropic.generations import generation_of
from gateway.providers.anthropic.options import Options as ClaudeOptions
from gateway.providers.anthropic.thinking import THINKING, Situation, fit_thinking
from gateway.providers.chat_options import ResponseFormat, read_options
from gateway.providers.reasoning_wish import read_wish

Fields = dict[str, object]
MOST_TEMPERATURE = 1.0
# OpenAI's service tiers that Bedrock has, too. `auto` says nothing.
TIERS = frozenset({"default", "flex", "priority"})
# https://docs.aws.amazon.com/nova/latest/nova2-userguide/extended-thinking.html
# Its highest effort takes no limit, and calls always have one.
NOVA_EFFORTS: Mapping[str, str] = {"minimal": "low", "low": "low", "medium": "medium"}
GPT_OSS_EFFORTS = frozenset({"low", "medium", "high"})
_CLAUDE = re.compile(r"\banthropic\.|claude")
_NOVA = re.compile(r"\bamazon\.nova-")
_THINKING_NOVA = re.compile(r"\bamazon\.nova-2-(?!sonic)")
_GPT_OSS = re.compile(r"\bopenai\.gpt-oss")
_MISTRAL = re.compile(r"\bmistral\.")
# Claude's options, and what they are called beside maxTokens.
_INFERENCE = {"temperature": "temperature", "top_p": "topP", "stop_sequences": "stopSequences"}
_read_tier = msgspec.json.Decoder(str | None).decode
_encode = msgspec.json.encode


class Options(msgspec.Struct, kw_only=True):
    """The options of one call, as fields of its request, and the names of what is left out."""

    inference: Fields = msgspec.field(default_factory=dict)
    output: Fields = msgspec.field(default_factory=dict)
    additional: Fields = msgspec.field(default_factory=dict)
    tier: str = ""
    # The model may think.
    thinks: bool = True
    dropped: set[str] = msgspec.field(default_factory=set)

    def write(self) -> Fields:
        """Return the fields of the request that have something in them."""
        said: Fields = {
            "inferenceConfig": self.inference,
            "outputConfig": self.output,
            "additionalModelRequestFields": self.additional,
            "serviceTier": {"type": self.tier} if self.tier else {},
        }
        return {name: value for name, value in said.items() if value}


def is_claude(native_model: str) -> bool:
    return _CLAUDE.search(native_model) is not None


def takes_strict_tools(native_model: str) -> bool:
    return not is_claude(native_model) or generation_of(native_model).takes_format


def translate_options(
    fields: Mapping[str, bytes], native_model: str, situation: Situation
) -> Options:
    """Return the options of a call. Raises RequestError, UnsupportedParameter."""
    if is_claude(native_model):
        options = _translate_for_claude(fields, native_model, situation)
    else:
        options = _translate(fields, native_model)
    options.inference["maxTokens"] = situation.max_tokens
    _set_tier(options, fields)
    return options


def _translate_for_claude(
    fields: Mapping[str, bytes], native_model: str, situation: Situation
) -> Options:
    given = {name: raw for name, raw in fields.items() if name not in ("user", THINKING)}
    own = fields.get(THINKING)
    fitted = None if own is None else fit_thinking(own, situation.max_tokens)
    if fitted is not None:
        given[THINKING] = fitted
    theirs = ClaudeOptions(given, generation_of(native_model), situation)
    said = dict(theirs.fields)
    options = Options(dropped=set(theirs.dropped), thinks=theirs.thinks)
    for name, ours in _INFERENCE.items():
        if name in said:
            options.inference[ours] = said.pop(name)
    output = said.pop("output_config", {})
    if isinstance(output, dict):
        if "effort" in output:
            options.output["effort"] = output["effort"]
        if "format" in output:
            options.output["textFormat"] = _write_format(output["format"]["schema"])
    options.additional.update(said)
    if fitted is not None:
        options.additional[THINKING] = msgspec.Raw(fitted)
    if "user" in fields:
        options.dropped.add("user")
    return options


def _translate(fields: Mapping[str, bytes], native_model: str) -> Options:
    options, given = Options(), read_options(fields)
    if given.temperature is not None:
        options.inference["temperature"] = min(given.temperature, MOST_TEMPERATURE)
        if given.temperature > MOST_TEMPERATURE:
            options.dropped.add("temperature")
    if given.top_p is not None:
        options.inference["topP"] = given.top_p
    if sequences := [text for text in given.stop_sequences if text]:
        options.inference["stopSequences"] = sequences
    if given.top_k is not None:
        _set_top_k(options, given.top_k, native_model)
    wish = read_wish(fields)
    if wish.effort is not None and not _set_effort(options, wish.effort, native_model):
        options.dropped.add(wish.name)
    if given.response_format is not None:
        _set_format(options, given.response_format)
    options.dropped |= {"user", "thinking"} & fields.keys()
    return options


def _set_top_k(options: Options, top_k: int, native_model: str) -> None:
    # https://docs.aws.amazon.com/nova/latest/userguide/using-converse-api.html
    if _NOVA.search(native_model):
        options.additional["inferenceConfig"] = {"topK": top_k}
    # https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-mistral-text-completion.html
    elif _MISTRAL.search(native_model):
        options.additional["top_k"] = top_k
    else:
        options.dropped.add("top_k")


def _set_effort(options: Options, effort: str, native_model: str) -> bool:
    """Say how much to think. Returns whether the model can be told."""
    if _THINKING_NOVA.search(native_model) and effort in NOVA_EFFORTS:
        config = {"type": "enabled", "maxReasoningEffort": NOVA_EFFORTS[effort]}
        options.additional["reasoningConfig"] = config
        return True
    is_gpt_oss = _GPT_OSS.search(native_model) is not None
    # https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-openai.html
    if is_gpt_oss and effort in GPT_OSS_EFFORTS:
        options.additional["reasoning_effort"] = effort
        return True
    return effort == "none" and not is_gpt_oss


def _set_format(options: Options, wanted: ResponseFormat) -> None:
    if wanted.type == "json_schema":
        schema = wanted.json_schema.schema
        options.output["textFormat"] = _write_format({} if bytes(schema) == b"null" else schema)
    elif wanted.type != "text":
        # There is no word for it; that the answer is to be JSON stands in the prompt.
        options.dropped.add("response_format")


def _write_format(schema: object) -> Fields:
    """Return a form of the answer. Which models keep to one:
    https://docs.aws.amazon.com/bedrock/latest/userguide/structured-output.html
    """
    text = _encode(schema).decode()
    return {"type": "json_schema", "structure": {"jsonSchema": {"schema": text}}}


def _set_tier(options: Options, fields: Mapping[str, bytes]) -> None:
    if "service_tier" not in fields:
        return
    try:
        tier = _read_tier(fields["service_tier"])
    except msgspec.DecodeError:
        raise UnsupportedParameter(
            "This model does not support this service_tier.", param="service_tier"
        ) from None
    if tier in TIERS:
        options.tier = tier
    elif tier != "auto":
        options.dropped.add("service_tier")
