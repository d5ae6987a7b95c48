"""Embeddings of Gemini's API, on Google AI Studio and on Vertex AI."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest

from tests.flows.caller import Caller
from tests.flows.embeddings.asking import as_float32, embed, vectors
from tests.flows.site import INPUT_NUSD, Site
from tests.flows.transports import DIRECT, add_provider
from tests.flows.vertex import LOCATION, PARENT, PROJECT


@dataclass(frozen=True)
class Place:
    """A model, and what one of its requests is like. most: texts that it has."""

    kind: str
    native: str
    most: int

    @property
    def name(self) -> str:
        return f"{self.kind}-{self.native}"


STUDIO = Place("google_ai_studio_gemini", "gemini-embedding-001", 100)
OLDER = Place("gcp_vertex_gemini", "text-embedding-005", 250)
FIRST = Place("gcp_vertex_gemini", "gemini-embedding-001", 1)
NEWER = Place("gcp_vertex_gemini", "gemini-embedding-2", 1)
PLACES = (STUDIO, OLDER, FIRST, NEWER)
SETTINGS = {"project": PROJECT, "location": LOCATION}
everywhere = pytest.mark.parametrize("place", PLACES, ids=lambda place: place.name)


@pytest.fixture(scope="module")
def embedders(site: Site) -> Site:
    for kind, path, settings in (
        (STUDIO.kind, "/gemini/v1beta", {}),
        (OLDER.kind, f"/vertex{PARENT}", SETTINGS),
    ):
        provider = add_provider(
            site,
            f"embedder-{kind}",
            transport=DIRECT,
            kind=kind,
            settings=settings,
            base_url=f"{site.upstream.origin}{path}",
        )
        for place in PLACES:
            if place.kind == kind:
                site.add_model(place.name, provider=provider, native_model=place.native)
    return site


@pytest.fixture
def caller(embedders: Site) -> Caller:
    return embedders.caller()


def vector(words: int, dimensions: int = 8) -> list[float]:
    return [float(words), *(n / 10 for n in range(dimensions - 1))]


@everywhere
def test_each_text_has_its_vector(embedders: Site, caller: Caller, place: Place) -> None:
    texts = [" ".join(["word"] * (1 + n % 5)) for n in range(min(3 * place.most, 260))]

    answer = embed(caller.with_(model=place.name), texts)
    encoded = embed(caller.with_(model=place.name), "two words", encoding_format="base64")

    assert vectors(answer) == [vector(1 + n % 5) for n in range(len(texts))]
    assert vectors(encoded) == [as_float32(vector(2))]
    entries = embedders.tries(answer.call_id)
    assert len(entries) == -(-len(texts) // place.most)
    tokens = sum(entry["prompt_tokens"] for entry in entries)
    record = embedders.record(answer.call_id)
    assert (record["charge_basis"], record["charge_nusd"]) == ("usage", tokens * INPUT_NUSD)


SAID: dict[Place, dict[str, Any]] = {
    STUDIO: {
        "requests": [
            {
                "model": "models/gemini-embedding-001",
                "content": {"parts": [{"text": "script:echo"}]},
                "taskType": "RETRIEVAL_QUERY",
                "outputDimensionality": 16,
            }
        ]
    },
    OLDER: {
        "instances": [{"content": "script:echo", "task_type": "RETRIEVAL_QUERY"}],
        "parameters": {"outputDimensionality": 16, "autoTruncate": False},
    },
    NEWER: {
        "content": {"parts": [{"text": "script:echo"}]},
        "embedContentConfig": {
            "taskType": "RETRIEVAL_QUERY",
            "autoTruncate": False,
            "outputDimensionality": 16,
        },
    },
}
SAID[FIRST] = SAID[OLDER]


@everywhere
@pytest.mark.parametrize("spelling", ["task_type", "taskType"])
def test_each_option_is_said_or_named(
    embedders: Site, caller: Caller, place: Place, spelling: str
) -> None:
    truncate = "auto_truncate" if spelling == "task_type" else "autoTruncate"
    members: dict[str, Any] = {
        spelling: "RETRIEVAL_QUERY",
        truncate: False,
        "dimensions": 16,
        "user": "ann",
    }

    answer = embed(caller.with_(model=place.name), "script:echo", **members)

    assert vectors(answer) == [vector(1, 16)]
    lost = {"user", truncate} if place is STUDIO else {"user"}
    assert set(answer.headers["x-dropped-params"].split(",")) == lost
    [entry] = embedders.tries(answer.call_id)
    assert json.loads(entry["body"]) == SAID[place]


@everywhere
def test_without_options_none_is_said(embedders: Site, caller: Caller, place: Place) -> None:
    answer = embed(caller.with_(model=place.name), "script:echo")

    [entry] = embedders.tries(answer.call_id)
    assert not {"parameters", "embedContentConfig"} & json.loads(entry["body"]).keys()
    assert answer.headers.get("x-dropped-params") is None


@everywhere
@pytest.mark.parametrize("how", ["fewer", "raw:[]", "raw:[null]", "raw:{}"])
def test_anything_but_the_vectors_is_the_providers_fault(
    embedders: Site, caller: Caller, place: Place, how: str
) -> None:
    answer = embed(caller.with_(model=place.name), f"script:vectors={how}")

    assert (answer.status, answer.error["code"]) == (502, "provider_unavailable")
    assert embedders.record(answer.call_id)["charge_nusd"] == 0


@everywhere
@pytest.mark.parametrize("usage", ["none", "raw:7", "raw:[]"])
def test_what_is_not_counted_is_estimated(
    embedders: Site, caller: Caller, place: Place, usage: str
) -> None:
    answer = embed(caller.with_(model=place.name), f"script:usage={usage}")

    assert embedders.record(answer.call_id)["charge_basis"] == "estimate"
    assert answer.status == 200, answer.body


def test_token_ids_are_refused(caller: Caller) -> None:
    answer = embed(caller.with_(model=STUDIO.name), [[1, 2], [3]])

    assert (answer.status, answer.error["code"]) == (400, "unsupported_parameter")


@everywhere
def test_refusals_say_what_the_provider_says(caller: Caller, place: Place) -> None:
    refused = embed(caller.with_(model=place.name), "hello", dimensions=9999)
    limited = embed(caller.with_(model=place.name), "script:fail=429")

    assert (refused.status, limited.status) == (400, 429)
    assert "outputDimensionality must be between 1 and 3072" in refused.error["message"]
