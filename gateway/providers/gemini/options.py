"""How an answer is to be made, from OpenAI's spelling to Gemini's generationConfig.

Sampling, penalties and thinking depend on the generation of the model. What goes beyond that is
left out, and named for x-dropped-params.
Reference: https://ai.google.dev/api/generate-content#generationconfig
"""

from __future__ import annotations

from collections.abc import Mapping

from gateway.core.errors import UnsupportedParameter
from gateway.providers.chat_options import ChatOptions, ResponseFormat, read_options
from gateway.providers.gemini.generations import Generation
from gateway.providers.gemini.guided import (
    JSON,
    TEMPLATE,
    hints_of,
    switch_of,
    write_constraint,
)
from gateway.providers.gemini.thinking import decide
from gateway.providers.reasoning_wish import USUAL_EFFORT, Wish, read_wish

Fields = dict[str, object]
OUTPUTS: Mapping[str, str] = {"text": "TEXT", "image": "IMAGE"}
# The API's seed is a signed integer of 32 bits.
SEEDS = range(-(2**31), 2**31)


class Options:
    """The options of one call, as fields of generationConfig, and the names of what is left out.

    max_tokens: None where the model's own limit is meant.
    """

    def __init__(
        self,
        fields: Mapping[str, bytes],
        generation: Generation,
        max_tokens: int | None,
        candidates: int,
    ) -> None:
        self.fields: Fields = {}
        self.dropped: set[str] = set()
        self._generation = generation
        asked = read_options(fields)
        self._say("maxOutputTokens", max_tokens)
        self._say("candidateCount", candidates if candidates > 1 else None)
        self._sample(asked)
        self._penalize(asked)
        self._think(fields)
        self._form(asked.response_format)
        self.fields |= write_constraint(fields)
        self.dropped |= hints_of(fields)
        self._show(asked)

    def _say(self, name: str, value: object) -> None:
        if value is not None:
            self.fields[name] = value

    def _sample(self, asked: ChatOptions) -> None:
        if self._generation.takes_sampling:
            self._say("temperature", asked.temperature)
            self._say("topP", asked.top_p)
            self._say("topK", asked.top_k)
        else:
            self._drop(asked, "temperature", "top_p", "top_k")
        if asked.seed is not None and asked.seed not in SEEDS:
            self.dropped.add("seed")
        else:
            self._say("seed", asked.seed)
        sequences = [sequence for sequence in asked.stop_sequences if sequence]
        self._say("stopSequences", sequences or None)

    def _penalize(self, asked: ChatOptions) -> None:
        # 0 is what goes for nothing anyway.
        if self._generation.takes_penalties:
            self._say("presencePenalty", asked.presence_penalty or None)
            self._say("frequencyPenalty", asked.frequency_penalty or None)
            return
        for name in ("presence_penalty", "frequency_penalty"):
            if getattr(asked, name):
                self.dropped.add(name)

    def _drop(self, asked: ChatOptions, *names: str) -> None:
        self.dropped.update(name for name in names if getattr(asked, name) is not None)

    def _think(self, fields: Mapping[str, bytes]) -> None:
        wish = read_wish(fields)
        switch = switch_of(fields)
        if wish.effort is None and switch is not None:
            wish = Wish(TEMPLATE, USUAL_EFFORT if switch else "none")
        thinking = decide(wish, self._generation)
        self._say("thinkingConfig", thinking.config or None)
        if not thinking.is_kept:
            self.dropped.add(wish.name)

    def _form(self, wanted: ResponseFormat | None) -> None:
        if wanted is None or wanted.type == "text":
            return
        self.fields["responseMimeType"] = JSON
        schema = wanted.json_schema.schema
        if wanted.type == "json_schema" and bytes(schema) != b"null":
            self.fields["responseJsonSchema"] = schema

    def _show(self, asked: ChatOptions) -> None:
        """Say what else than text the answer is to have."""
        if asked.logprobs:
            self.fields["responseLogprobs"] = True
            self._say("logprobs", asked.top_logprobs or None)
        if asked.modalities is None:
            return
        if not OUTPUTS.keys() >= set(asked.modalities):
            raise UnsupportedParameter(
                "The model only supports text and image output.", param="modalities"
            )
        self.fields["responseModalities"] = [OUTPUTS[name] for name in asked.modalities]
