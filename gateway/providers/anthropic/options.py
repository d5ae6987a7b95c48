"""What a chat completion asks for beside its messages and tools, and what Anthropic takes of it.

Sampling, thinking and the form of the answer depend on the generation of the model, and on each
other: a model that thinks takes no temperature, and need not be forced to call a tool. What goes
beyond that is left out, and named for x-dropped-params.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from gateway.core.errors import UnsupportedParameter
from gateway.providers.anthropic.generations import Generation
from gateway.providers.anthropic.json_schema import close_objects
from gateway.providers.anthropic.thinking import Situation, decide
from gateway.providers.guided_decoding import param_of_format

Fields = dict[str, object]
NULL = b"null"
LEAST_TOP_P_THINKING = 0.95


class JsonSchema(msgspec.Struct):
    """The schema of an answer."""

    schema: dict[str, object] | None = None


class ResponseFormat(msgspec.Struct):
    """The form of an answer."""

    type: str
    json_schema: JsonSchema = msgspec.field(default_factory=JsonSchema)


class Sampling(msgspec.Struct):
    """How a model picks its words."""

    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None


_read_format = msgspec.json.Decoder(ResponseFormat | None).decode
_read_stop = msgspec.json.Decoder(str | list[str] | None).decode
_read_number = msgspec.json.Decoder(float | None).decode
_read_count = msgspec.json.Decoder(int | None).decode
_read_user = msgspec.json.Decoder(str | None).decode


class Options:
    """The options of one call, as fields of its request, and the names of what is left out."""

    def __init__(
        self, given: Mapping[str, bytes], generation: Generation, situation: Situation
    ) -> None:
        self.fields: Fields = {}
        self.dropped: set[str] = set()
        self._given = given
        self._generation = generation
        self._output: Fields = {}
        # The model may think.
        self.thinks = self._think(situation)
        self._sample()
        self._form()
        self._stop()
        if user := _read_user(given.get("user", NULL)):
            self.fields["metadata"] = {"user_id": user}
        if self._output:
            self.fields["output_config"] = self._output

    def _think(self, situation: Situation) -> bool:
        thinking = decide(self._given, self._generation, situation)
        if thinking.field is not None:
            self.fields["thinking"] = thinking.field
        if thinking.effort is not None:
            self._output["effort"] = thinking.effort
        if thinking.dropped:
            self.dropped.add(thinking.dropped)
        return thinking.is_on

    def _sample(self) -> None:
        given = self._given
        temperature = _read_number(given.get("temperature", NULL))
        top_p = _read_number(given.get("top_p", NULL))
        top_k = _read_count(given.get("top_k", NULL))
        if not self._generation.takes_sampling:
            asked = {"temperature": temperature, "top_p": top_p, "top_k": top_k}
            self.dropped.update(name for name, value in asked.items() if value is not None)
            return
        if temperature is not None:
            self._say("temperature", min(temperature, 1.0), is_whole=temperature <= 1)
        if top_p is not None:
            is_one_too_many = temperature is not None and not self._generation.takes_both_samplings
            self._say("top_p", None if is_one_too_many else top_p, is_whole=not is_one_too_many)
        if top_k is not None:
            self._say("top_k", top_k, is_whole=True)
        if self.thinks:
            self._unsay_sampling()

    def _say(self, name: str, value: object, *, is_whole: bool) -> None:
        if value is not None:
            self.fields[name] = value
        if not is_whole:
            self.dropped.add(name)

    def _unsay_sampling(self) -> None:
        """A model that thinks takes temperature 1, a high top_p and no top_k."""
        top_p = self.fields.get("top_p")
        lost = {"temperature", "top_k"} & self.fields.keys()
        if self.fields.get("temperature") == 1:
            lost.discard("temperature")
        if isinstance(top_p, float) and top_p < LEAST_TOP_P_THINKING:
            lost.add("top_p")
        for name in lost:
            del self.fields[name]
        self.dropped |= lost

    def _form(self) -> None:
        wanted = _read_format(self._given.get("response_format", NULL))
        if wanted is None or wanted.type == "text":
            return
        if wanted.type == "json_object":
            # It has no word for it; that the answer is to be JSON stands in the prompt.
            self.dropped.add("response_format")
            return
        if not self._generation.takes_format:
            raise UnsupportedParameter(
                "The model does not support a JSON Schema for the response.",
                param=param_of_format(self._given),
            )
        schema = close_objects(wanted.json_schema.schema or {})
        self._output["format"] = {"type": "json_schema", "schema": schema}

    def _stop(self) -> None:
        given = _read_stop(self._given.get("stop", NULL))
        wanted = [given] if isinstance(given, str) else given or []
        sequences = [sequence for sequence in wanted if sequence.strip()]
        if sequences:
            self.fields["stop_sequences"] = sequences
        if len(sequences) < len(wanted):
            self.dropped.add("stop")
