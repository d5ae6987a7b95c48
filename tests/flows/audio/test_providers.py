"""Providers whose sound is not asked for as OpenAI's is, in its path or in its form."""

from __future__ import annotations

from typing import Any

import pytest

from tests.fakes.openai.audio import sound
from tests.flows.audio.asking import PRICES, add_model, ask, ask_scripted
from tests.flows.caller import Answer, Caller
from tests.flows.look_alikes.test_fields import dropped
from tests.flows.site import NUSD_PER_USD, Site

SURFACES = {"v1": {}, "deployments": {"api_version": "2024-10-21"}}
SAID = "one two three"


@pytest.fixture(scope="module", params=sorted(SURFACES))
def azure_model(site: Site, request: pytest.FixtureRequest) -> str:
    name = f"azure-audio-{request.param}"
    site.office.do(
        "provider",
        name=name,
        kind="azure_openai",
        base_url=f"{site.upstream.origin}/azure/openai",
        credential="sk-x",
        settings={"resource": "contoso"} | SURFACES[request.param],
    )
    return add_model(site, name, provider=name, native_model="whisper")


@pytest.mark.parametrize("operation", ["transcriptions", "translations"])
def test_azure_listens(site: Site, azure_model: str, operation: str) -> None:
    answer = ask_scripted(site.caller().with_(model=azure_model), operation, f"text={SAID}")

    assert (answer.status, answer.json["text"]) == (200, SAID), answer.body
    assert answer.json["usage"]["seconds"] == 2


def test_azure_speaks(site: Site, azure_model: str) -> None:
    answer = ask_scripted(site.caller().with_(model=azure_model), "speech", "tokens=5")

    assert answer.body == sound(5)
    assert site.record(answer.call_id)["charge_basis"] == "usage"


@pytest.fixture(scope="module")
def mistral_model(site: Site) -> str:
    address = f"{site.upstream.origin}/mistral/v1"
    site.office.do("provider", name="voxtral", kind="mistral", base_url=address, credential="sk-x")
    return add_model(site, "voxtral", provider="voxtral", native_model="voxtral-mini-latest")


@pytest.fixture
def mistral(site: Site, mistral_model: str) -> Caller:
    return site.caller().with_(model=mistral_model)


def ask_mistral(caller: Caller, script: str = f"text={SAID}", **members: Any) -> Answer:
    return ask(caller, "transcriptions", context_bias=[f"script:{script}"], **members)


def test_mistral_is_sent_its_own_form(site: Site, mistral: Caller) -> None:
    answer = ask_mistral(mistral, prompt="Names: Ann", temperature=0.2, response_format="json")

    assert (answer.status, answer.json["text"]) == (200, SAID), answer.body
    assert dropped(answer) == {"prompt"}
    assert answer.json["model"] == mistral.model
    usage = answer.json["usage"]
    assert (usage["type"], usage["input_tokens"], usage["output_tokens"]) == ("tokens", 25, 3)
    record = site.record(answer.call_id)
    assert record["charge_nusd"] == 2 * PRICES["second"]
    assert record["charge_basis"] == "usage"


@pytest.mark.parametrize(
    ("form", "expected"), [("text", f"{SAID}\n"), ("srt", "1\n00:00:00,000 --> 00:00:00,500\none")]
)
def test_mistrals_transcripts_have_every_form(mistral: Caller, form: str, expected: str) -> None:
    answer = ask_mistral(mistral, response_format=form)

    assert answer.body.decode().startswith(expected)


def test_mistrals_verbose_transcripts_have_segments_and_a_duration(mistral: Caller) -> None:
    answer = ask_mistral(mistral, response_format="verbose_json")

    assert [one["text"] for one in answer.json["segments"]] == SAID.split()
    assert answer.json["duration"] == 2


def test_mistrals_events_are_read(site: Site, mistral: Caller) -> None:
    answer = ask_mistral(mistral, stream="true")

    *deltas, done = answer.events
    assert [one["delta"] for one in deltas] == ["one", " two", " three"]
    assert (done["type"], done["text"]) == ("transcript.text.done", SAID)
    assert done["usage"]["cost"] == site.record(answer.call_id)["charge_nusd"] / NUSD_PER_USD > 0


def test_mistral_tells_no_speakers_in_openais_form(mistral: Caller) -> None:
    answer = ask_mistral(mistral, response_format="diarized_json")

    assert (answer.status, answer.error["param"]) == (400, "response_format")


def test_a_mistral_stream_that_breaks_off_is_free(site: Site, mistral: Caller) -> None:
    answer = ask_mistral(mistral, "tokens=5&close_after=2", stream="true")

    assert "error" in answer.events[-1]
    assert site.record(answer.call_id)["charge_basis"] == "zero_upstream"


@pytest.mark.parametrize("kind", ["together", "deepinfra"])
def test_providers_that_are_like_openai(site: Site, kind: str) -> None:
    name = f"{kind}-audio"
    address = f"{site.upstream.origin}/groq/v1"
    site.office.do("provider", name=name, kind=kind, base_url=address, credential="sk-x")
    model = add_model(site, name, provider=name, native_model="whisper-large-v3")
    caller = site.caller().with_(model=model)

    for operation in ("transcriptions", "translations"):
        assert ask(caller, operation).json["usage"]["seconds"] == 2
    assert ask_scripted(caller, "speech", "tokens=3").body == sound(3)
