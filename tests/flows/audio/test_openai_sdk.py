"""OpenAI's SDK for Python asks as it does, and reads what comes with its own types."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest
from openai import OpenAI
from openai.types.audio import TranscriptionVerbose

from tests.fakes.openai.audio import sound
from tests.flows.audio.asking import RECORDING, add_model
from tests.flows.caller import Caller
from tests.flows.site import Site

FILE = ('a name, with "quotes" & ümlauts.mp3', RECORDING)
SAID = "one two three"
PROMPT = f"script:text={SAID}"


@pytest.fixture
def sdk(caller: Caller) -> Iterator[OpenAI]:
    base_url = f"http://127.0.0.1:{caller.port}/v1"
    with closing(OpenAI(api_key=caller.secret, base_url=base_url, max_retries=0)) as client:
        yield client


def test_speech_is_written_to_a_file(sdk: OpenAI, caller: Caller) -> None:
    text = "script:tokens=40"
    with sdk.audio.speech.with_streaming_response.create(
        model=caller.model, input=text, voice="alloy"
    ) as answer:
        assert b"".join(answer.iter_bytes()) == sound(40)


def test_transcripts_have_their_types(sdk: OpenAI, caller: Caller) -> None:
    model, create = caller.model, sdk.audio.transcriptions.create

    plain = create(model=model, file=FILE, prompt=PROMPT, temperature=0.2, language="en")
    verbose = create(
        model=model,
        file=FILE,
        prompt=PROMPT,
        response_format="verbose_json",
        timestamp_granularities=["segment"],
    )
    text = create(model=model, file=FILE, prompt=PROMPT, response_format="text")
    english = sdk.audio.translations.create(model=model, file=FILE, prompt=PROMPT)

    assert plain.text == english.text == SAID
    assert plain.usage is not None
    assert plain.usage.type == "duration"
    assert isinstance(verbose, TranscriptionVerbose)
    assert [one.text for one in verbose.segments or ()] == SAID.split()
    assert text == f"{SAID}\n"


def test_a_transcript_is_streamed(site: Site, sdk: OpenAI, caller: Caller) -> None:
    model = add_model(
        site, "sdk-streams", provider="audio-openai", native_model="gpt-4o-transcribe"
    )

    stream = sdk.audio.transcriptions.create(
        model=model,
        file=FILE,
        prompt=PROMPT,
        stream=True,
        include=["logprobs"],
        chunking_strategy={"type": "server_vad", "threshold": 0.5},
    )

    *deltas, done = list(stream)
    assert [one.type for one in deltas] == ["transcript.text.delta"] * 3
    assert done.type == "transcript.text.done"
    assert done.text == SAID
