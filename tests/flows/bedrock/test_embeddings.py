"""Embeddings of models on Bedrock: Amazon's Titan, and Cohere's."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.flows.bedrock.conftest import SIGNED
from tests.flows.caller import Caller
from tests.flows.embeddings.asking import as_float32, embed, vectors
from tests.flows.site import INPUT_NUSD, Site

TITAN, COHERE = "amazon.titan-embed-text-v2:0", "cohere.embed-english-v3"
PROFILE = "arn:aws:bedrock:eu-central-1:123456789012:inference-profile/eu.cohere.embed-v4:0"
# Each with the texts of one request.
MOST = {TITAN: 1, COHERE: 96, PROFILE: 96}
OTHERS = ("amazon.titan-embed-text-v1", "amazon.titan-embed-image-v1")
each_model = pytest.mark.parametrize("model", MOST)


@pytest.fixture(scope="module")
def embedders(bedrock_site: Site) -> Site:
    for native in (*MOST, *OTHERS):
        bedrock_site.add_model(f"b-{native[-20:]}", provider="bedrock", native_model=native)
    bedrock_site.add_model("signed-titan", provider=f"bedrock-{SIGNED}", native_model=TITAN)
    return bedrock_site


@pytest.fixture
def caller(embedders: Site) -> Caller:
    return embedders.caller()


def of(caller: Caller, native: str) -> Caller:
    return caller.with_(model=f"b-{native[-20:]}")


def vector(words: int, dimensions: int = 8) -> list[float]:
    return [float(words), *(n / 10 for n in range(dimensions - 1))]


@each_model
def test_each_text_has_its_vector(embedders: Site, caller: Caller, model: str) -> None:
    texts = [" ".join(["word"] * (1 + n % 5)) for n in range(min(2 * MOST[model], 100) + 20)]

    answer = embed(of(caller, model), texts)
    encoded = embed(of(caller, model), "two words", encoding_format="base64")

    assert vectors(answer) == [vector(1 + n % 5) for n in range(len(texts))]
    assert vectors(encoded) == [as_float32(vector(2))]
    entries = embedders.tries(answer.call_id)
    assert len(entries) == -(-len(texts) // MOST[model])
    tokens = sum(entry["prompt_tokens"] for entry in entries)
    record = embedders.record(answer.call_id)
    assert (record["charge_basis"], record["charge_nusd"]) == ("usage", tokens * INPUT_NUSD)


OF_COHERE = {"texts": ["script:echo"], "embedding_types": ["float"]}
SAID: dict[str, tuple[str, dict[str, Any], dict[str, Any], set[str]]] = {
    "titan": (TITAN, {}, {"inputText": "script:echo"}, set()),
    "titan, smaller": (
        TITAN,
        {"dimensions": 256, "normalize": False, "user": "ann"},
        {"inputText": "script:echo", "dimensions": 256, "normalize": False},
        {"user"},
    ),
    "titan of Cohere's fields": (
        TITAN,
        {"input_type": "search_query"},
        {"inputText": "script:echo"},
        {"input_type"},
    ),
    "titan of images": (
        OTHERS[1],
        {"dimensions": 384},
        {"inputText": "script:echo", "embeddingConfig": {"outputEmbeddingLength": 384}},
        set(),
    ),
    "cohere": (COHERE, {}, OF_COHERE | {"input_type": "search_document"}, set()),
    "cohere, for queries": (
        PROFILE,
        {"input_type": "search_query", "truncate": "NONE", "dimensions": 256, "priority": 1},
        OF_COHERE | {"input_type": "search_query", "truncate": "NONE", "output_dimension": 256},
        {"priority"},
    ),
}


@pytest.mark.parametrize("case", SAID)
def test_each_option_is_said_or_named(embedders: Site, caller: Caller, case: str) -> None:
    model, members, said, lost = SAID[case]

    answer = embed(of(caller, model), "script:echo", **members)

    assert vectors(answer) == [vector(1, members.get("dimensions", 8))]
    dropped = answer.headers.get("x-dropped-params", "")
    assert set(filter(None, dropped.split(","))) == lost
    [entry] = embedders.tries(answer.call_id)
    assert json.loads(entry["body"]) == said


def test_a_signed_request_is_let_in(caller: Caller) -> None:
    answer = embed(caller.with_(model="signed-titan"), ["one", "now two"])

    assert vectors(answer) == [vector(1), vector(2)]


@each_model
@pytest.mark.parametrize("how", ["fewer", "raw:[]", 'raw:"x"'])
def test_anything_but_the_vectors_is_the_providers_fault(
    embedders: Site, caller: Caller, model: str, how: str
) -> None:
    answer = embed(of(caller, model), f"script:vectors={how}")

    assert (answer.status, answer.error["code"]) == (502, "provider_unavailable")
    assert embedders.record(answer.call_id)["charge_nusd"] == 0


@each_model
@pytest.mark.parametrize(
    "usage",
    ["none", "raw:seven", "raw:-1", f"raw:{'9' * 5000}"],
    ids=["none", "a word", "negative", "5,000 digits"],
)
def test_what_is_not_counted_is_estimated(
    embedders: Site, caller: Caller, model: str, usage: str
) -> None:
    answer = embed(of(caller, model), f"script:usage={usage}")

    assert answer.status == 200, answer.body
    counts = model == TITAN and usage != "none"  # in the answer, too
    basis = "usage" if counts else "estimate"
    assert embedders.record(answer.call_id)["charge_basis"] == basis


def test_refusals_say_what_the_provider_says(caller: Caller) -> None:
    refused = embed(of(caller, OTHERS[0]), "hello", dimensions=256)
    limited = embed(of(caller, TITAN), ["one", "script:fail=429"])

    assert (refused.status, "[dimensions]" in refused.error["message"]) == (400, True)
    assert (limited.status, limited.error["code"]) == (429, "provider_rate_limit")


def test_models_for_chat_have_none(caller: Caller) -> None:
    answer = embed(caller.with_(model="bedrock-nova"), "hello")

    assert (answer.status, answer.error["code"]) == (400, "endpoint_not_supported_by_model")
