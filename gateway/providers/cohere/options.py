"""What a chat completion asks for beside its messages, and what Cohere takes of it.

Reference: https://docs.cohere.com/v2/reference/chat
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from gateway.providers.chat_options import ChatOptions, read_options
from gateway.providers.offered_tools import OfferedTools

Fields = dict[str, object]
LEAST_TOP_P, MOST_TOP_P = 0.01, 0.99
MOST_TOP_K = 500
MOST_STOP_SEQUENCES = 5
# https://docs.cohere.com/docs/reasoning
_THINKING = re.compile(r"command-a-(reasoning|plus)|reasoning")
# How many tokens to think with; the highest efforts have no limit.
BUDGETS: Mapping[str, int] = {"minimal": 1024, "low": 2048, "medium": 8192}


class Options(msgspec.Struct):
    """The options of one call, as fields of its request, and the names of what is left out."""

    fields: Fields = msgspec.field(default_factory=dict)
    dropped: set[str] = msgspec.field(default_factory=set)

    def say(self, name: str, theirs: str, value: float | None, bounds: tuple[float, float]) -> None:
        """Say a number within its bounds; name it where it was beyond them."""
        if value is None:
            return
        least, most = bounds
        said = min(max(value, least), most)
        self.fields[theirs] = said
        if said != value:
            self.dropped.add(name)


def thinks(native_model: str) -> bool:
    """Return whether a model can reason."""
    return _THINKING.search(native_model) is not None


def translate_options(given: Mapping[str, bytes], native_model: str) -> Options:
    """Return the options of a call. Raises RequestError."""
    wanted, options = read_options(given), Options()
    if wanted.temperature is not None:
        options.fields["temperature"] = wanted.temperature
    options.say("top_p", "p", wanted.top_p, (LEAST_TOP_P, MOST_TOP_P))
    if wanted.top_p == 1:  # as good as the most
        options.dropped.discard("top_p")
    options.say("top_k", "k", wanted.top_k, (0, MOST_TOP_K))
    options.say("seed", "seed", wanted.seed, (0, 2**63 - 1))
    for name in ("frequency_penalty", "presence_penalty"):
        options.say(name, name, getattr(wanted, name), (0, 1))
    sequences = wanted.stop_sequences
    if sequences:
        options.fields["stop_sequences"] = sequences[:MOST_STOP_SEQUENCES]
    if len(sequences) > MOST_STOP_SEQUENCES:
        options.dropped.add("stop")
    if wanted.logprobs:
        options.fields["logprobs"] = True
    if wanted.top_logprobs:
        options.dropped.add("top_logprobs")
    _think(options, wanted.reasoning_effort, native_model)
    _form(options, wanted)
    return options


def translate_tools(offered: OfferedTools, options: Options) -> Fields:
    """Return the fields of the tools that are offered."""
    functions = offered.functions
    if offered.choice == "named":
        functions = [function for function in functions if function.name == offered.name]
    if not functions:
        return {}
    said: Fields = {
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": function.name,
                    **({"description": function.description} if function.description else {}),
                    "parameters": function.parameters or {"type": "object", "properties": {}},
                },
            }
            for function in functions
        ]
    }
    if offered.choice in ("required", "named"):
        said["tool_choice"] = "REQUIRED"
    elif offered.choice == "none":
        said["tool_choice"] = "NONE"
    if any(function.strict for function in functions):
        said["strict_tools"] = True
    if offered.parallel is False:
        options.dropped.add("parallel_tool_calls")
    return said


def _think(options: Options, effort: str | None, native_model: str) -> None:
    if effort is None:
        return
    if not thinks(native_model):
        if effort != "none":
            options.dropped.add("reasoning_effort")
        return
    said: Fields = {"type": "disabled" if effort == "none" else "enabled"}
    if effort in BUDGETS:
        said["token_budget"] = BUDGETS[effort]
    options.fields["thinking"] = said


def _form(options: Options, wanted: ChatOptions) -> None:
    form = wanted.response_format
    if form is None or form.type == "text":
        return
    said: Fields = {"type": "json_object"}
    if form.type == "json_schema":
        said["json_schema"] = form.json_schema.schema
    options.fields["response_format"] = said
