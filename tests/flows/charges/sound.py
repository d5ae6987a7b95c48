"""Random calls for speech, and for the text of recordings."""

from __future__ import annotations

import json
import random
from base64 import b64decode
from collections.abc import Callable, Mapping

from tests.fakes.openai.audio import BYTES_PER_S, PIECE_BYTES
from tests.flows.audio.asking import BOUNDARY, write_form
from tests.flows.caller import Caller, LiveCall
from tests.flows.charges.planned import (
    BREAKS,
    Ending,
    Means,
    Members,
    Plan,
    Planned,
    count_texts,
    post,
    script_for,
    words,
    write_script,
)

E = Ending
# By our own count: tokens of a second of a recording.
HEARD_TOKENS_PER_S = 10
# A file whose end is lost is no shorter than others are: only a connection that breaks tells it.
FILE_BREAKS = ("reset_after", "close_after")
# Forms of transcripts in which a cost is told.
TELLING = ("json", "verbose_json")
FORMS = ("json", "text", "srt", "vtt", "verbose_json")
# Each piece of a streamed transcript.
DELTA = b"transcript.text.delta"
# Each is one token, and one word.
HEARD = ("red", "water", "and", "the", "house", "dog", "green", "is")


def plan_speech(dice: random.Random, ending: Ending, means: Means) -> Planned:
    """Speech comes as it is made, as a file or as events. Models whose tokens have a price are
    asked for events, whatever the caller gets."""
    tokens, has_events = dice.randint(1, 30), dice.random() < 0.5
    counts_tokens = "completion" in means.priced
    stream = dice.random() < 0.7
    script = {"tokens": tokens} | script_for(
        dice,
        ending,
        tokens=tokens,
        stream=stream,
        breaks_by=BREAKS if counts_tokens and means.reports else FILE_BREAKS,
    )
    is_scripted = ending is not E.WHOLE or not means.reports
    text = write_script(script) if is_scripted else words(dice, 60)
    instructions = words(dice, 20) if dice.random() < 0.5 else ""
    body: Members = {"input": text, "voice": "alloy"}
    body |= {"instructions": instructions} if instructions else {}
    if has_events:
        body["stream_format"] = "sse"
    heard = script.get("stall_after", 0)
    said = heard if ending is E.LEFT else tokens
    estimate = {
        "prompt": count_texts(text, instructions),
        "character": len(text),
        "completion": said,
    }
    return Planned(
        ending,
        stream,
        post("/v1/audio/speech", body),
        estimate=estimate,
        is_enough=lambda said: sound_bytes(said, has_events=has_events) >= heard * PIECE_BYTES,
        tells_cost=has_events,
        is_counted_by_us=not means.reports and ending is not E.FALLBACK,
    )


def sound_bytes(said: bytes, *, has_events: bool) -> int:
    """Return how much of a file has come."""
    if not has_events:
        return len(said)
    events = [json.loads(one.removeprefix(b"data: ")) for one in said.split(b"\n\n")[:-1]]
    return sum(len(b64decode(event["audio"])) for event in events if "audio" in event)


def plan_transcript(
    operation: str,
    *,
    forms: tuple[str, ...] = FORMS,
    streams: bool = False,
    has_prompt: bool = True,
) -> Plan:
    """Return what plans calls for the text of a recording.

    forms: those that the model can be asked for. streams: text comes as it is heard. has_prompt:
    the script stands there; else in a field of Mistral's, which our own count does not read.
    """

    def plan(dice: random.Random, ending: Ending, means: Means) -> Planned:
        stream = operation == "transcriptions" and dice.random() < 0.5
        heard = dice.choices(HEARD, k=dice.randint(1, 30))
        comes_in_pieces = stream and streams
        script = {"text": " ".join(heard)} | script_for(
            dice, ending, tokens=len(heard), stream=comes_in_pieces
        )
        said = write_script(script)
        form = "json" if stream else dice.choice(forms)
        members: Members = {"response_format": form}
        members |= {"stream": "true"} if stream else {}
        filename = "a.mp3"
        if has_prompt:
            members["prompt"] = said
        elif ending is E.FALLBACK:
            filename = said  # nobody else takes Mistral's fields
        else:
            members["context_bias"] = [said]
        content = dice.randbytes(dice.randint(1, 30_000))
        prompt = count_texts(said) if has_prompt else 0
        ms = -(-len(content) * 1000 // BYTES_PER_S)
        estimate = {
            "prompt": prompt - (-len(content) * HEARD_TOKENS_PER_S // BYTES_PER_S),
            "second": ms,
        }
        return Planned(
            ending,
            comes_in_pieces,
            send_form(f"/v1/audio/{operation}", members, content, filename),
            estimate=estimate,
            is_enough=lambda said: said.count(DELTA) >= int(script.get("stall_after", 0)),
            tells_cost=form in TELLING,
        )

    return plan


def send_form(
    path: str, members: Members, content: bytes, filename: str
) -> Callable[[Caller, Mapping[str, str]], LiveCall]:
    """Return what sends a form with a recording to an endpoint."""

    def begin(caller: Caller, headers: Mapping[str, str]) -> LiveCall:
        kind = {"content-type": f'multipart/form-data; boundary="{BOUNDARY}"'}
        raw = write_form({"model": caller.model} | members, content, filename)
        return caller.begin(path=path, raw=raw, headers={**kind, **headers})

    return begin
