"""Voyage AI, Jina AI and Text Embeddings Inference: embeddings and rankings, and no chat."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.flows.caller import Caller
from tests.flows.embeddings.asking import as_float32, embed, vectors
from tests.flows.plain.asking import ask, ask_scripted
from tests.flows.site import INPUT_NUSD, NUSD_PER_USD, Site

KINDS = ("voyage", "jina", "tei")
SEARCH_NUSD = 2_000_000
every_kind = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture(scope="module")
def embedders(site: Site) -> Site:
    for kind in KINDS:
        base_url = f"{site.upstream.origin}/{kind}/v1"
        site.office.do(
            "provider", name=kind, kind=kind, base_url=base_url, credential="sk-embedders"
        )
        prices = {"search": SEARCH_NUSD * 1000}
        site.add_model(kind, provider=kind, native_model=f"{kind}-3", unit_prices=prices)
    return site


@pytest.fixture
def caller(embedders: Site) -> Caller:
    return embedders.caller()


def vector(words: int, dimensions: int = 8) -> list[float]:
    return [float(words), *(n / 10 for n in range(dimensions - 1))]


@every_kind
def test_each_text_has_its_vector(embedders: Site, caller: Caller, kind: str) -> None:
    answer = embed(caller.with_(model=kind), ["one", "now two"])
    encoded = embed(caller.with_(model=kind), "two words", encoding_format="base64")

    assert vectors(answer) == [vector(1), vector(2)]
    assert vectors(encoded) == [as_float32(vector(2))]
    assert embedders.record(answer.call_id)["charge_nusd"] == 3 * INPUT_NUSD


@pytest.mark.parametrize(("kind", "count", "requests"), [("voyage", 1500, 2), ("tei", 100, 4)])
def test_many_inputs_go_in_several_requests(
    embedders: Site, caller: Caller, kind: str, count: int, requests: int
) -> None:
    texts = [" ".join(["word"] * (1 + place % 3)) for place in range(count)]

    answer = embed(caller.with_(model=kind), texts)

    assert vectors(answer) == [vector(1 + place % 3) for place in range(count)]
    entries = embedders.tries(answer.call_id)
    assert len(entries) == requests
    tokens = sum(entry["prompt_tokens"] for entry in entries)
    assert embedders.record(answer.call_id)["charge_nusd"] == tokens * INPUT_NUSD


def test_token_ids_go_where_they_are_known(caller: Caller) -> None:
    taken = embed(caller.with_(model="tei"), [[5, 6]] * 40)
    refused = [embed(caller.with_(model=kind), [5, 6]) for kind in ("voyage", "jina")]

    assert vectors(taken) == [vector(2)] * 40
    assert [answer.error["param"] for answer in refused] == ["input"] * 2
    assert [answer.error["code"] for answer in refused] == ["unsupported_parameter"] * 2


TEXT = "script:echo"
EMBEDDINGS: dict[str, tuple[dict[str, Any], dict[str, Any], str | None]] = {
    "voyage": (
        {"dimensions": 16, "input_type": "query", "user": "ann"},
        {"model": "voyage-3", "output_dimension": 16, "input_type": "query"},
        "user",
    ),
    "jina": (
        {"dimensions": 16, "task": "retrieval.query", "user": "ann"},
        {"model": "jina-3", "dimensions": 16, "task": "retrieval.query"},
        "user",
    ),
    "tei": ({"dimensions": 16}, {"model": "tei-3", "dimensions": 16}, None),
}


@every_kind
def test_each_option_of_embeddings_is_said_or_named(
    embedders: Site, caller: Caller, kind: str
) -> None:
    members, said, lost = EMBEDDINGS[kind]

    answer = embed(caller.with_(model=kind), TEXT, **members)

    assert vectors(answer) == [vector(1, 16)]
    assert answer.headers.get("x-dropped-params") == lost
    [entry] = embedders.tries(answer.call_id)
    assert json.loads(entry["body"]) == said | {"input": TEXT}


RANKINGS: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "voyage": (
        {"truncation": False},
        {"model": "voyage-3", "documents": ["a", "bb bb"], "top_k": 1, "truncation": False},
        "max_tokens_per_doc,user",
    ),
    "jina": (
        {},
        {"model": "jina-3", "documents": ["a", "bb bb"], "top_n": 1, "return_documents": False},
        "max_tokens_per_doc,user",
    ),
    "tei": (
        {"raw_scores": True},
        {"model": "tei-3", "texts": ["a", "bb bb"], "truncate": True, "raw_scores": True},
        "max_tokens_per_doc,user",
    ),
}


@every_kind
def test_each_option_of_rankings_is_said_or_named(
    embedders: Site, caller: Caller, kind: str
) -> None:
    members, said, lost = RANKINGS[kind]
    members = members | {"top_n": 1, "max_tokens_per_doc": 50, "user": "ann"}
    documents = ["a", {"text": "bb bb"}]

    answer = ask(
        caller.with_(model=kind),
        "rerank",
        query=TEXT,
        documents=documents,
        return_documents=True,
        **members,
    )

    assert answer.status == 200, answer.body
    [found] = answer.json["results"]
    assert (found["index"], found["document"]) == (1, {"text": "bb bb"})
    assert answer.headers.get("x-dropped-params") == lost
    [entry] = embedders.tries(answer.call_id)
    assert json.loads(entry["body"]) == said | {"query": TEXT}


@every_kind
def test_rankings_are_charged_by_what_is_counted(
    embedders: Site, caller: Caller, kind: str
) -> None:
    answer = ask(caller.with_(model=kind), "rerank", query="bread", documents=["a", "b c"] * 60)

    record = embedders.record(answer.call_id)
    tokens = sum(entry["prompt_tokens"] for entry in embedders.tries(answer.call_id))
    searches = 2 * SEARCH_NUSD
    if kind == "tei":
        assert record["charge_basis"] == "estimate"
        assert record["charge_nusd"] >= searches
    else:
        assert record["charge_basis"] == "usage"
        assert record["charge_nusd"] == searches + tokens * INPUT_NUSD


@pytest.mark.parametrize(("kind", "count", "requests"), [("voyage", 1500, 2), ("tei", 100, 4)])
def test_many_documents_are_ranked_in_several_requests(
    embedders: Site, kind: str, count: int, requests: int
) -> None:
    caller = embedders.caller(credit_nusd=20 * NUSD_PER_USD).with_(model=kind)
    documents = ["x" * (1 + place * 37 % 100) for place in range(count)]

    answer = ask(caller, "rerank", documents=documents, top_n=50)
    everything = ask(caller, "rerank", documents=documents)

    assert answer.status == 200, answer.body
    lengths = sorted(map(len, documents), reverse=True)
    assert [len(documents[one["index"]]) for one in answer.json["results"]] == lengths[:50]
    places = [one["index"] for one in everything.json["results"]]
    assert [len(documents[place]) for place in places] == lengths
    assert sorted(places) == list(range(count))
    entries = embedders.tries(answer.call_id)
    assert len(entries) == requests
    if kind == "voyage":
        tokens = sum(entry["prompt_tokens"] for entry in entries)
        charge_nusd = 15 * SEARCH_NUSD + tokens * INPUT_NUSD
        assert embedders.record(answer.call_id)["charge_nusd"] == charge_nusd


@every_kind
@pytest.mark.parametrize("how", ["fewer", "twice", "raw:{}", 'raw:[{"index":0}]'])
def test_anything_but_a_ranking_is_the_providers_fault(
    embedders: Site, caller: Caller, kind: str, how: str
) -> None:
    answer = ask_scripted(caller.with_(model=kind), "rerank", f"answers={how}")

    assert (answer.status, answer.error["code"]) == (502, "provider_unavailable")
    assert embedders.record(answer.call_id)["charge_nusd"] == 0


@every_kind
def test_they_have_no_chat(embedders: Site, caller: Caller, kind: str) -> None:
    for answer in (caller.with_(model=kind).ask("hello"),):
        assert (answer.status, answer.error["code"]) == (400, "endpoint_not_supported_by_model")
        assert embedders.tries(answer.call_id) == []
