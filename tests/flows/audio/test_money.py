"""What seconds, characters and tokens cost, to the nano-dollar, against the upstream's own book."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tests.flows.audio.asking import PRICES, add_model, ask
from tests.flows.caller import Answer, Caller
from tests.flows.site import INPUT_NUSD, NUSD_PER_USD, OUTPUT_NUSD, Site
from tests.support.proofs import form

CREDIT_NUSD = 100 * NUSD_PER_USD
WORDS = ("red", "bicycle", "42", "naïve", "水", "über", "🚲", "e\u0301", "a\nb", "\t")
FILES = ("mp3", "opus", "aac", "flac", "wav", "pcm")
TEXTS = ("json", "text", "srt", "vtt", "verbose_json")


def ask_for_speech(caller: Caller, dice: random.Random) -> Answer:
    words = " ".join(dice.choices(WORDS, k=dice.randint(1, 60)))
    members: dict[str, Any] = {"response_format": dice.choice(FILES)}
    if dice.random() < 0.5:
        members["stream_format"] = dice.choice(("audio", "sse"))
    if dice.random() < 0.5:
        members["instructions"] = "Whisper."
    text = f"script:tokens={dice.randint(1, 20)}&text={words}" if dice.random() < 0.5 else words
    return ask(caller, "speech", input=text, **members)


def ask_for_text(caller: Caller, dice: random.Random, forms: tuple[str, ...] = TEXTS) -> Answer:
    return ask(
        caller,
        dice.choice(("transcriptions", "translations")),
        content=dice.randbytes(dice.randint(1, 30_000)),
        prompt=f"script:tokens={dice.randint(0, 20)}",
        response_format=dice.choice(forms),
    )


@pytest.mark.proof
@pytest.mark.parametrize("unit", ["second", "character"])
def test_random_calls_are_charged_by_unit_as_the_upstreams_book_says(
    site: Site, audio_model: str, unit: str
) -> None:
    dice = random.Random(7)
    caller = site.caller(credit_nusd=CREDIT_NUSD).with_(model=audio_model)
    spent_nusd = 0

    for _ in range(form(short=20, whole=1_000)):
        answer = (ask_for_text if unit == "second" else ask_for_speech)(caller, dice)
        assert answer.status == 200, answer.body
        [entry] = site.tries(answer.call_id)
        units = entry["sound_ms"] if unit == "second" else entry["characters"]
        charge_nusd = site.record(answer.call_id)["charge_nusd"]
        assert charge_nusd == units * PRICES[unit] // 1000 > 0
        spent_nusd += charge_nusd

    assert site.balance_nusd(caller) == CREDIT_NUSD - spent_nusd


@pytest.mark.proof
@pytest.mark.parametrize(
    ("ask_for", "native"),
    [(ask_for_speech, "gpt-4o-mini-tts"), (ask_for_text, "gpt-4o-transcribe")],
)
def test_random_calls_are_charged_by_token_as_the_upstreams_book_says(
    site: Site, audio_model: str, ask_for: Any, native: str
) -> None:
    dice = random.Random(7)
    provider = "audio-openai"
    model = site.add_model(
        f"money-{native}", provider=provider, native_model=native, max_output_tokens=1000
    )
    caller = site.caller(credit_nusd=CREDIT_NUSD).with_(model=model)
    spent_nusd = 0

    for _ in range(form(short=20, whole=1_000)):
        answer = ask_for(caller, dice)
        assert answer.status == 200, answer.body
        [entry] = site.tries(answer.call_id)
        expected_nusd = (
            entry["prompt_tokens"] * INPUT_NUSD + entry["completion_tokens"] * OUTPUT_NUSD
        )
        charge_nusd = site.record(answer.call_id)["charge_nusd"]
        assert charge_nusd == expected_nusd
        spent_nusd += charge_nusd

    assert site.balance_nusd(caller) == CREDIT_NUSD - spent_nusd


def test_both_units_may_have_a_price(site: Site, audio_model: str) -> None:
    model = add_model(
        site,
        "tokens-and-seconds",
        provider="audio-openai",
        native_model="whisper-1",
        input_pusd=1_000_000,
    )

    answer = ask(site.caller().with_(model=model), "transcriptions")

    [entry] = site.tries(answer.call_id)
    charge_nusd = site.record(answer.call_id)["charge_nusd"]
    assert charge_nusd == entry["sound_ms"] * PRICES["second"] // 1000
