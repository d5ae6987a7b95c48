"""What requests of OpenAI's other formats than chat have in common: their members, and reading them
into the facts of a call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Generic, NamedTuple, TypeVar

import msgspec
from msgspec import Meta, Struct

from gateway.core.call import CallFacts
from gateway.core.cost_bound import CostBound
from gateway.core.errors import UnsupportedParameter
from gateway.core.money import usd
from gateway.core.receipt import Receipt
from gateway.core.request import RequestHead
from gateway.endpoints.reading import (
    USER_WORDS,
    PublicName,
    User,
    check_unknown,
    decode,
    member_decoder,
    refuse_unsafe,
    write_alias,
)
from gateway.endpoints.rules import Rules
from gateway.http import strict_json
from gateway.http.headers import (
    check_headers,
    read_episode,
    read_idempotency_key,
    requires_parameters,
)
from gateway.snapshot.types import ModelRecord

# Members of chat completions that would change what another endpoint answers, and cannot.
OF_CHAT = frozenset({"inferada", "plugins", "hi_tool_events"})
OF_STREAMS = frozenset({"stream", "stream_options"})
NOTHING = (b"null", b"false")


class PlainRequest(Struct, kw_only=True):
    """Members of all these requests. null means absent throughout."""

    model: PublicName
    user: User | None = None
    models: Annotated[list[PublicName], Meta(max_length=5)] | None = None
    episode_id: str | None = msgspec.field(name="tensorzero::episode_id", default=None)
    deny_unknown_fields: bool | None = msgspec.field(
        name="tensorzero::deny_unknown_fields", default=None
    )


R = TypeVar("R", bound=PlainRequest)


class Read(NamedTuple, Generic[R]):
    """A request, its top-level members as raw JSON, the names that are nobody's, and its facts."""

    request: R
    fields: dict[str, bytes]
    unknown: tuple[str, ...]
    facts: CallFacts


class PlainReader(Generic[R]):
    """Reads the requests of one endpoint.

    what: the endpoint's answers, in the plural, for messages. not_here: members that must be off.
    words: what the endpoint's own patterns ask for.
    """

    def __init__(
        self,
        request: type[R],
        *,
        what: str,
        not_here: frozenset[str],
        words: str = USER_WORDS,
        max_items: int = strict_json.MAX_ITEMS,
    ) -> None:
        self.known = frozenset(request.__struct_encode_fields__)
        self.not_here = not_here
        self._decoder = msgspec.json.Decoder(request)
        self._what = what
        self._words = words
        self._max_items = max_items

    def read(self, body: bytes, head: RequestHead, rules: Rules) -> Read[R]:
        """Raises InvalidJson, or RequestError with the member at fault as `param`."""
        request = decode(self._decoder, body, self._words_for, self._max_items)
        check_headers(head)
        fields = {name: bytes(raw) for name, raw in member_decoder.decode(body).items()}
        for name in self.not_here.intersection(fields):
            if fields.pop(name) not in NOTHING:
                raise UnsupportedParameter(f"{self._what} do not support {name}.", param=name)
        unknown = tuple(name for name in fields if name not in self.known)
        refuse_unsafe(unknown, self.known)
        check_unknown(unknown, denies=bool(request.deny_unknown_fields))
        if request.user and rules.user_secret:
            fields["user"] = write_alias(request.user, rules)
        return Read(request, fields, unknown, _facts(request, body, head))

    def _words_for(self, param: str) -> str:
        return USER_WORDS if param == "user" else self._words


class PromptUsage(Struct):
    prompt_tokens: int
    total_tokens: int
    cost: Annotated[float, Meta(description="USD.")]


def write_prompt_usage(receipt: Receipt) -> PromptUsage:
    """Return the `usage` object of an answer without output tokens."""
    prompt_tokens = receipt.usage.prompt_tokens
    return PromptUsage(prompt_tokens, prompt_tokens, usd(receipt.charge_nusd))


def bound_prompt(
    model: ModelRecord, prompt_tokens: int, units: Mapping[str, int] | None = None
) -> CostBound:
    """Return what a call without output tokens can cost at most on the model.

    units: the most of other units that it can use, by name.
    """
    price = model.max_price
    pusd = prompt_tokens * model.max_prompt_pusd
    for name, count in (units or {}).items():
        pusd += count * price.of(name)
    return CostBound(
        price=price,
        prompt_pusd=pusd,
        token_pusd=0,
        limit_tokens=0,
        prompt_tokens=prompt_tokens,
    )


def _facts(request: PlainRequest, body: bytes, head: RequestHead) -> CallFacts:
    return CallFacts(
        model=request.model,
        stream=False,
        user=request.user or "",
        episode_id=read_episode(head, request.episode_id),
        idempotency_key=read_idempotency_key(head),
        requires_parameters=requires_parameters(head),
        body=body,
        fallback_names=request.models,
    )
