"""Embeddings and rankings over Cohere's own APIs: what is asked, what comes, what it costs."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.flows.caller import Caller
from tests.flows.embeddings.asking import as_float32, embed, vectors
from tests.flows.plain.asking import ask, ask_scripted
from tests.flows.site import INPUT_NUSD, NUSD_PER_USD, Site

EMBED, RERANK = "embed-v4.0", "rerank-v3.5"
SEARCH_NUSD = 2_000_000


@pytest.fixture(scope="session")
def models(cohere_site: Site) -> Site:
    cohere_site.add_model(EMBED, provider="cohere", native_model=EMBED)
    cohere_site.add_model("embed-v3", provider="cohere", native_model="embed-english-v3.0")
    cohere_site.add_model(
        RERANK, provider="cohere", native_model=RERANK, unit_prices={"search": SEARCH_NUSD * 1000}
    )
    return cohere_site


@pytest.fixture
def caller(models: Site) -> Caller:
    return models.caller()


@pytest.fixture
def embedder(caller: Caller) -> Caller:
    return caller.with_(model=EMBED)


@pytest.fixture
def ranker(caller: Caller) -> Caller:
    return caller.with_(model=RERANK)


def vector(words: int, dimensions: int = 8) -> list[float]:
    return [float(words), *(n / 10 for n in range(dimensions - 1))]


def test_each_text_has_its_vector_in_the_form_that_is_asked_for(embedder: Caller) -> None:
    numbers = embed(embedder, ["one", "now two"])
    encoded = embed(embedder, "and then three", encoding_format="base64")

    assert vectors(numbers) == [vector(1), vector(2)]
    assert vectors(encoded) == [as_float32(vector(3))]
    assert numbers.json["usage"]["prompt_tokens"] == 3


@pytest.mark.parametrize(
    ("asked", "said", "lost"),
    [
        ({}, {"input_type": "search_document"}, None),
        ({"input_type": "search_query"}, {"input_type": "search_query"}, None),
        ({"truncate": "NONE"}, {"input_type": "search_document", "truncate": "NONE"}, None),
        ({"dimensions": 256}, {"input_type": "search_document", "output_dimension": 256}, None),
        ({"user": "ann"}, {"input_type": "search_document"}, "user"),
    ],
)
def test_each_option_is_said_or_named(
    models: Site,
    embedder: Caller,
    asked: dict[str, Any],
    said: dict[str, Any],
    lost: str | None,
) -> None:
    answer = embed(embedder, "script:echo", **asked)

    assert len(vectors(answer)[0]) == asked.get("dimensions", 8)
    assert answer.headers.get("x-dropped-params") == lost
    [entry] = models.tries(answer.call_id)
    body = {"model": EMBED, "texts": ["script:echo"], "embedding_types": ["float"]} | said
    assert json.loads(entry["body"]) == body


def test_token_ids_are_refused_before_the_api_is_asked(models: Site, embedder: Caller) -> None:
    answer = embed(embedder, [5, 6])

    assert (answer.status, answer.error["param"]) == (400, "input")
    assert answer.error["code"] == "unsupported_parameter"
    assert "only supports texts, not token IDs" in answer.error["message"]
    assert models.tries(answer.call_id) == []


def test_many_texts_go_in_several_requests(models: Site, embedder: Caller) -> None:
    texts = [" ".join(["word"] * (1 + place % 7)) for place in range(1000)]

    answer = embed(embedder, texts)

    assert vectors(answer) == [vector(1 + place % 7) for place in range(1000)]
    entries = models.tries(answer.call_id)
    assert len(entries) == 11
    tokens = sum(entry["prompt_tokens"] for entry in entries)
    assert answer.json["usage"]["prompt_tokens"] == tokens
    assert models.record(answer.call_id)["charge_nusd"] == tokens * INPUT_NUSD


@pytest.mark.parametrize("place", [0, 96, 199])
def test_when_one_of_several_requests_fails_the_call_does(
    models: Site, embedder: Caller, place: int
) -> None:
    texts = ["a"] * 200
    texts[place - place % 96] = "script:fail=503"

    answer = embed(embedder, texts)

    assert (answer.status, answer.error["code"]) == (502, "provider_unavailable")
    assert models.record(answer.call_id)["charge_nusd"] == 0
    assert models.balance_nusd(embedder) == NUSD_PER_USD


def test_what_is_not_counted_of_one_request_is_estimated_of_all(
    models: Site, embedder: Caller
) -> None:
    answer = embed(embedder, ["script:usage=none", *["a"] * 99])

    assert answer.status == 200, answer.body
    assert models.record(answer.call_id)["charge_basis"] == "estimate"


def test_a_model_that_has_one_size_says_so(caller: Caller) -> None:
    answer = embed(caller.with_(model="embed-v3"), "hello", dimensions=256)

    assert answer.status == 400
    assert "output_dimension is not supported" in answer.error["message"]


@pytest.mark.parametrize("how", ["fewer", "more", "raw:[]", "raw:[true]", 'raw:"x"', "raw:{}"])
def test_anything_but_the_vectors_is_the_providers_fault(
    models: Site, embedder: Caller, how: str
) -> None:
    answer = embed(embedder, [f"script:vectors={how}", "b"])

    assert (answer.status, answer.error["code"]) == (502, "provider_unavailable")
    assert models.record(answer.call_id)["charge_nusd"] == 0


@pytest.mark.parametrize(
    ("usage", "basis"), [("", "usage"), ("&usage=none", "estimate"), ("&usage=raw:7", "estimate")]
)
def test_tokens_are_charged_as_they_are_billed(
    models: Site, embedder: Caller, usage: str, basis: str
) -> None:
    answer = embed(embedder, [f"script:first_ms=0{usage}", "two words"])

    assert answer.status == 200, answer.body
    record = models.record(answer.call_id)
    assert record["charge_basis"] == basis
    if basis == "usage":
        assert record["charge_nusd"] == 3 * INPUT_NUSD
    assert models.balance_nusd(embedder) == NUSD_PER_USD - record["charge_nusd"]


def test_the_most_relevant_document_is_the_first(ranker: Caller) -> None:
    documents = ["a", {"text": "bb bb"}, "c c c c"]

    answer = ask(ranker, "rerank", documents=documents, top_n=2, return_documents=True)

    assert [one["index"] for one in answer.json["results"]] == [2, 1]
    assert answer.json["results"][1]["document"] == {"text": "bb bb"}
    assert "x-dropped-params" not in answer.headers


def test_searches_are_charged_as_they_are_billed(models: Site, ranker: Caller) -> None:
    short = ask(ranker, "rerank", documents=["a", "b"])
    long = ask(ranker, "rerank", documents=["a b"] * 150, user="ann")

    assert models.record(short.call_id)["charge_nusd"] == SEARCH_NUSD
    assert models.record(long.call_id)["charge_nusd"] == 2 * SEARCH_NUSD
    assert long.json["meta"]["billed_units"]["search_units"] == 2
    assert long.headers["x-dropped-params"] == "user"


@pytest.mark.parametrize("how", ["fewer", "twice", "raw:{}", 'raw:[{"index":0}]'])
def test_anything_but_a_ranking_is_the_providers_fault(
    models: Site, ranker: Caller, how: str
) -> None:
    answer = ask_scripted(ranker, "rerank", f"answers={how}")

    assert (answer.status, answer.error["code"]) == (502, "provider_unavailable")
    assert models.record(answer.call_id)["charge_nusd"] == 0


def test_refusals_say_what_the_provider_says(ranker: Caller, embedder: Caller) -> None:
    refused = ask_scripted(ranker, "rerank", "fail=400&message=too+many+documents")
    limited = embed(embedder, "script:fail=429")

    assert (refused.status, "too many documents" in refused.error["message"]) == (400, True)
    assert (limited.status, limited.error["code"]) == (429, "provider_rate_limit")
