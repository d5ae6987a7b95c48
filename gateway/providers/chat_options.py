"""Options of a chat completion as values, for adapters that translate them."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from gateway.core.errors import RequestError


class JsonSchema(msgspec.Struct):
    """The schema of an answer; null where there is none."""

    schema: msgspec.Raw = msgspec.Raw(b"null")


class ResponseFormat(msgspec.Struct):
    """The form of an answer: text, json_object or json_schema."""

    type: str
    json_schema: JsonSchema = msgspec.field(default_factory=JsonSchema)


class ChatOptions(msgspec.Struct, kw_only=True):
    """What a call says of how it is to be answered; None where it does not."""

    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    seed: int | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    stop: str | list[str] | None = None
    logprobs: bool | None = None
    top_logprobs: int | None = None
    modalities: list[str] | None = None
    reasoning_effort: str | None = None
    response_format: ResponseFormat | None = None

    @property
    def stop_sequences(self) -> list[str]:
        return [self.stop] if isinstance(self.stop, str) else self.stop or []


OPTIONS = frozenset(ChatOptions.__struct_fields__)
_decode = msgspec.json.Decoder(ChatOptions).decode


def read_options(fields: Mapping[str, bytes]) -> ChatOptions:
    """Return the options. Raises RequestError for one that no endpoint has looked into and makes no
    sense."""
    given = [b'"%b":%b' % (name.encode(), fields[name]) for name in OPTIONS & fields.keys()]
    try:
        return _decode(b"{%b}" % b",".join(given))
    except msgspec.ValidationError as error:
        reason, _, place = str(error).partition(" - at `$.")
        name = place.rstrip("`")
        raise RequestError(f"{name}: {reason}.", param=name) from None
