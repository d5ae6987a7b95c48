"""A request for text completions, and the same as a chat: what a model for chat can be asked.

Its answers are those of chat (gateway.core.events): the text is their content.
"""

from __future__ import annotations

import msgspec

from gateway.core.call import Call, Payload
from gateway.core.chat import ChatCall, ChatRequest
from gateway.core.errors import UnsupportedParameter

# Fields that mean the same in a chat. All others are dropped, or refused: see `as_chat`.
OF_CHAT_TOO = frozenset(
    {
        *("model", "stream", "stream_options", "max_tokens", "n", "stop", "seed", "user"),
        *("temperature", "top_p", "top_k", "min_p", "frequency_penalty", "presence_penalty"),
        *("repetition_penalty", "logit_bias", "ignore_eos"),
    }
)
# Fields of text completions that a chat has no word for.
REFUSED_AS_CHAT = ("suffix", "echo", "logprobs")
# What of them asks for nothing.
_OFF = frozenset({b"null", b"false", b'""'})


class CompletionsRequest(Payload, frozen=True, kw_only=True):
    """What a request for text completions asks for: `n` counts those of all prompts together."""

    operation = "completions"

    # Those of the prompts that are text, and how many tokens each of the others has.
    texts: tuple[str, ...] = ()
    token_counts: tuple[int, ...] = ()
    # Completions that are generated, of which `n` are returned.
    generated: int = 1
    # What stream_options asked for; None when it did not say.
    include_usage: bool | None = None
    # Of each completion; None when the caller set no limit.
    max_tokens: int | None = None
    # An upper bound of all prompts together.
    prompt_tokens_bound: int = 0

    @property
    def prompts(self) -> int:
        return len(self.texts) + len(self.token_counts)


CompletionsCall = Call[CompletionsRequest]


def dropped_as_chat(payload: CompletionsRequest) -> set[str]:
    """Return the names of fields that a chat does not get, and that may be left out."""
    gone = {"prompt", "best_of", *REFUSED_AS_CHAT}
    names = payload.fields.keys() - OF_CHAT_TOO - gone
    return {name for name in names if not _is_ours(name) and payload.has(name)}


def as_chat(call: CompletionsCall) -> ChatCall:
    """Return the call as a chat with one message of the user's, the prompt.

    Raises UnsupportedParameter for what a chat cannot be told: several prompts, tokens, a text
    behind the completion, the prompt before it, log probabilities, the best of several.
    """
    payload, model = call.payload, call.facts.model
    for name in REFUSED_AS_CHAT:
        if payload.fields.get(name, b"null") not in _OFF:
            raise UnsupportedParameter(
                f"{model} is a chat model. It does not support {name}.", param=name
            )
    if payload.generated != payload.n:
        raise UnsupportedParameter(
            f"{model} is a chat model. It does not support best_of.", param="best_of"
        )
    if payload.token_counts or len(payload.texts) != 1:
        raise UnsupportedParameter(
            f"{model} is a chat model. It does not support several prompts, or token IDs.",
            param="prompt",
        )
    fields = {
        name: raw for name, raw in payload.fields.items() if name in OF_CHAT_TOO or _is_ours(name)
    }
    message = {"role": "user", "content": payload.texts[0]}
    fields["messages"] = msgspec.json.encode([message])
    chat = ChatRequest(
        fields=fields,
        n=payload.n,
        messages=(),
        include_usage=payload.include_usage,
        max_tokens=payload.max_tokens,
        prompt_tokens_bound=payload.prompt_tokens_bound,
    )
    return Call(call.facts, chat)


def _is_ours(name: str) -> bool:
    """True for members that no provider gets."""
    return name == "models" or name.startswith("tensorzero::")
