"""POST /completions, inbound: bytes to a Call. Every refusal names the member at fault."""

from __future__ import annotations

from msgspec.structs import replace

from gateway.core.call import Call
from gateway.core.chat import ChatCall
from gateway.core.completions import CompletionsCall, CompletionsRequest, as_chat
from gateway.core.errors import RequestError, UnsupportedParameter
from gateway.core.profiles import UNIFIED, Profile
from gateway.core.request import RequestHead
from gateway.endpoints.chat_completions.schema import UserMessage
from gateway.endpoints.completions import schema
from gateway.endpoints.completions.schema import CompletionRequest
from gateway.endpoints.inputs import bound_inputs, read_inputs
from gateway.endpoints.rules import USUAL, Rules


def read_call(
    body: bytes, head: RequestHead, profile: Profile = UNIFIED, rules: Rules = USUAL
) -> CompletionsCall:
    """Return what the body asks for. Raises InvalidJson or RequestError with `param`."""
    request, fields, unknown, facts = schema.reader.read(body, head, rules)
    texts, token_counts = read_inputs(request.prompt, "prompt", schema.MAX_PROMPTS)
    prompts, each = len(texts) + len(token_counts), request.n or 1
    best_of = request.best_of or each
    _check(request, profile, rules)
    if prompts * max(each, best_of) > schema.MAX_COMPLETIONS:
        raise RequestError(
            f"A request can have at most {schema.MAX_COMPLETIONS} completions, those of all "
            "prompts together.",
            param="n" if each > 1 else "best_of" if best_of > 1 else "prompt",
        )
    if request.stream:
        facts = replace(facts, stream=True)
    payload = CompletionsRequest(
        fields=fields,
        unknown=unknown,
        n=prompts * each,
        generated=prompts * best_of,
        texts=texts,
        token_counts=token_counts,
        include_usage=request.stream_options.include_usage if request.stream_options else None,
        max_tokens=request.max_tokens,
        prompt_tokens_bound=bound_inputs(texts, token_counts),
    )
    return Call(facts, payload)


def _check(request: CompletionRequest, profile: Profile, rules: Rules) -> None:
    """Check what types cannot say. Raises RequestError, UnsupportedParameter."""
    each, stop = request.n or 1, request.stop
    if request.best_of is not None and request.best_of < each:
        raise RequestError("best_of must be at least n.", param="best_of")
    if each > 1 and not profile.allows_many_choices:
        raise RequestError("n must be 1.", param="n")
    if isinstance(stop, list) and len(stop) > rules.stop_sequences:
        raise RequestError(f"stop can have at most {rules.stop_sequences} sequences.", param="stop")
    if request.max_tokens == 0 and not request.echo:
        raise RequestError("max_tokens can be 0 only with echo: true.", param="max_tokens")
    if request.stream:
        # The best is known at the end alone, and a prompt that comes back is no output.
        for name, is_asked in (("best_of", (request.best_of or 1) > each), ("echo", request.echo)):
            if is_asked:
                raise UnsupportedParameter(f"{name} cannot be streamed.", param=name)


def read_as_chat(call: CompletionsCall) -> ChatCall:
    """Return the call as a chat whose prompt can be led by a model's system prompt.

    Raises as gateway.core.completions.as_chat.
    """
    return as_chat(call).with_payload(messages=[UserMessage(call.payload.texts[0])])
