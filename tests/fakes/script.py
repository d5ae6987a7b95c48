"""The script of a call: what the fake upstream is told to do, in the last user message.

A message `script:tokens=20&delay_ms=5&reset_after=3` sets the fields of `Script` by name, as a
query string: `%26` is an ampersand, `+` a space. A flag may stand alone (`truncate`). A misspelt
name is refused with 400, so that a test cannot pass because its script was not understood.
Anything that does not start with `script:` is an ordinary prompt and gets the defaults.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import lru_cache
from urllib.parse import parse_qsl

PREFIX = "script:"
NEVER = -1


class ScriptError(ValueError):
    """The script names something that does not exist, or gives it a value it cannot have."""


@dataclass(frozen=True, slots=True)
class Script:
    """One behaviour. Positions counted in tokens are 0-based; `NEVER` (-1) switches a fault off."""

    # What is generated.
    tokens: int = 10
    text: str = ""  # these words instead of "tok0 tok1 …"
    cut: int = 0  # that text in tokens of so many characters
    says: str = ""  # this text of tests/support/texts.py, in tokens of o200k
    counts: str = ""  # "o200k" counts the prompt as OpenAI does, see tests/fakes/counting.py
    token_bytes: int = 0  # pad every token with x to this many bytes
    per_event: int = 1  # tokens per streamed event
    stamp: bool = False  # each token's text is "@<time.monotonic_ns() as it is written> "
    endless: bool = False  # never finish, whatever max_tokens says
    noted: bool = False  # the book has the request's body
    echo: bool = False  # the answer is JSON: method, path, headers, body_text as received
    reasoning: int = 0  # tokens of reasoning ahead of the answer
    reasoning_field: str = "reasoning_content"
    details: bool = False  # reasoning_details beside it, with a signature, as OpenRouter has them
    tools: int = 0  # so many tool calls instead of text, unless the last message is a tool's
    rounds: int = 1  # as many times as there are tool results before it
    cites: str = ""  # where the text is from: page, char or web; Anthropic's API only
    redacted: bool = False  # thinking that cannot be read comes first; Anthropic's API only
    args: str = '{"city":"Paris"}'  # the arguments of each tool call, cut into 4-character tokens
    finish: str = ""  # finish_reason; "null" sends none at all
    blocked: str = ""  # the prompt is not answered, for this reason; Gemini's API only
    model: str = ""  # the model named in the answer, if not the one asked for
    # Of embeddings: float or base64 whatever was asked for; fewer, more, twice (one index),
    # backwards, unnumbered; raw:<JSON>, each of them.
    vectors: str = ""
    # Of moderations, rankings and images: fewer, more, twice; raw:<JSON>, all of them.
    answers: str = ""
    big_bytes: int = 0  # the answer's text is one token of this many bytes

    # What is reported: "none", "null", "zero", "wrong:<JSON>" (as completion_tokens), "raw:<JSON>".
    usage: str = ""
    cached: int = 0
    cache_written: int = 0  # tokens of the prompt written to the cache
    cache_written_1h: int = 0  # so many of these for an hour
    # Of Perplexity.
    searched: int = NEVER  # how often the model searched, by its own count; NEVER: it has none
    fee_usd: float = NEVER  # what it says that the request costs beside tokens; NEVER: nothing
    cited: int = 0  # tokens that it read beside the prompt
    researched: int = 0  # tokens that it thought with beside the completion
    found_bytes: int = 0  # so long is what each piece of a stream says of what was found

    # When.
    first_ms: float = 0.0  # silence before the status line
    delay_ms: float = 0.0  # between tokens and before the finish, on an absolute schedule
    hang: bool = False  # read the request and never answer
    drop: str = ""  # "reset" or "close" the connection instead of answering
    stall_after: int = NEVER  # go silent when so many tokens are out
    stall_ms: float = NEVER  # for how long; NEVER stays silent
    usage_gate: str = ""  # go silent between the finish and the usage until POST /gates/<this>
    gate: str = ""  # go silent (at the beginning, or at stall_after) until POST /gates/<this>

    # How it is cut.
    chunk_bytes: int = 0  # write the body in pieces of this size, each its own HTTP chunk
    split_at: int = NEVER  # write the body in two pieces, cut at this byte
    gap_ms: float = 0.0  # wait between such pieces
    framing: str = ""  # "chunked" or "eof"; by default content-length, chunked for streams
    gzip: bool = False
    close: bool = False  # end the connection after the answer, as an old server does

    flip_bit: int = NEVER  # turn over this bit of the body

    # How it breaks. A reset is a TCP RST; a truncation ends the body properly, but too early;
    # a close is a FIN in the middle of the body.
    reset_after: int = NEVER
    reset_at_byte: int = NEVER
    truncate: bool = False  # everything but the finish marker and [DONE]
    truncate_after: int = NEVER
    truncate_at_byte: int = NEVER
    close_after: int = NEVER
    close_at_byte: int = NEVER
    error_after: int = NEVER  # an error event inside the stream
    wait_ms: float = 20.0  # before a reset, so that what was sent arrives first

    # How it refuses.
    fail: int = 0  # status
    fail_times: int = 0  # only the first so many tries with one x-request-id; 0 is every try
    fail_but: str = ""  # not the tries at this model
    body: str = "json"  # one of _CHOICES, below
    message: str = "The fake upstream was told to fail."
    code: str = "scripted"
    retry_after: str = ""
    retry_delay: str = ""  # the same inside the body, such as 7s; Gemini's API only
    header: tuple[str, ...] = ()  # further response headers, "name:value"; may be repeated
    content_type: str = ""

    # How the event stream is spelled; see tests/fakes/spelling.py.
    sse: tuple[str, ...] = ()
    plant: str = ""  # this as the data of an event of its own, behind the first token
    no_done: bool = False

    @property
    def is_plain(self) -> bool:
        """True when the whole answer may leave in one write."""
        return self == _ONLY_TEXT[0] or self == Script(tokens=self.tokens, per_event=self.per_event)

    @property
    def stops_at(self) -> int:
        """Return after how many tokens the stream breaks, or NEVER."""
        given = [n for n in (self.reset_after, self.truncate_after, self.close_after) if n >= 0]
        return min(given, default=NEVER)


_ONLY_TEXT = (Script(),)
_CHOICES = {
    "body": ("json", "html", "text", "empty", "null", "array", "bare", "broken"),
    "drop": ("", "reset", "close"),
    "framing": ("", "chunked", "eof"),
    "cites": ("", "page", "char", "web"),
    "reasoning_field": ("reasoning", "reasoning_content", "content"),
}
_KINDS = {field.name: str(field.type) for field in fields(Script)}


@lru_cache(maxsize=4096)
def read_script(prompt: str) -> Script:
    """Return the behaviour a prompt asks for. Raises ScriptError."""
    if not prompt.startswith(PREFIX):
        return _ONLY_TEXT[0]
    values: dict[str, object] = {}
    for name, text in parse_qsl(prompt[len(PREFIX) :].strip(), keep_blank_values=True):
        kind = _KINDS.get(name)
        if kind is None:
            raise ScriptError(f"The script names {name!r}, which does not exist.")
        if kind.startswith("tuple"):
            so_far = values.get(name, ())
            assert isinstance(so_far, tuple)
            values[name] = (*so_far, text)
        else:
            values[name] = _read_value(name, kind, text)
    return Script(**values)  # type: ignore[arg-type]


def _read_value(name: str, kind: str, text: str) -> object:
    if kind == "bool":
        return text not in ("0", "no")
    if kind == "str":
        if text not in _CHOICES.get(name, (text,)):
            raise ScriptError(f"The script's {name} must be one of {_CHOICES[name]}, not {text!r}.")
        return text
    try:
        return int(text) if kind == "int" else float(text)
    except ValueError:
        raise ScriptError(f"The script's {name} must be a number, not {text!r}.") from None
