"""What is its own of each operation."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from cohere import ClientV2
from openai import NotFoundError, OpenAI

from tests.flows.caller import Caller
from tests.flows.plain.asking import ask
from tests.flows.site import Site

IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,aW1hZ2U="}}
TEXT = {"type": "text", "text": "a cat"}
REFUSED: dict[str, tuple[str, dict[str, Any], str]] = {
    "no input": ("moderations", {"input": []}, "input"),
    "empty text": ("moderations", {"input": ["a", ""]}, "input[1]"),
    "texts and parts": ("moderations", {"input": ["a", TEXT]}, "input[1]"),
    "another part": ("moderations", {"input": [{"type": "file"}]}, "input[0]"),
    "a path": ("moderations", {"input": [IMAGE | {"image_url": {"url": "x"}}]}, "input[0]"),
    "no documents": ("rerank", {"documents": []}, "documents"),
    "an empty document": ("rerank", {"documents": ["a", {}]}, "documents[1]"),
    "a number for text": ("rerank", {"documents": [{"text": 7}]}, "documents[0].text"),
    "no query": ("rerank", {"query": ""}, "query"),
    "no results": ("rerank", {"top_n": 0}, "top_n"),
    "no prompt": ("images", {"prompt": ""}, "prompt"),
    "too many images": ("images", {"n": 11}, "n"),
    "a size of signs": ("images", {"size": "1024 x 1024"}, "size"),
    "another form": ("images", {"response_format": "png"}, "response_format"),
    "pieces of images": ("images", {"partial_images": 2}, "partial_images"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_makes_no_sense_is_the_callers_fault(caller: Caller, case: str) -> None:
    operation, members, param = REFUSED[case]

    answer = ask(caller, operation, **members)

    assert answer.status == 400
    assert str(answer.error["param"]).startswith(param)


@pytest.mark.parametrize(
    ("operation", "members", "said"),
    [
        (
            "moderations",
            {"input": [IMAGE | {"image_url": {"url": "a.png"}}]},
            "input[0].image_url.url must be a URL that begins with https://, http:// or"
            " data:image/.",
        ),
        (
            "images",
            {"size": "1024 x 1024"},
            "size must be 1 to 32 letters, digits or _ : . -, such as 1024x1024 or auto.",
        ),
        ("images", {"user": "a\nb"}, "user must be text without control characters."),
    ],
)
def test_what_a_text_must_be_is_said_of_each(
    caller: Caller, operation: str, members: dict[str, Any], said: str
) -> None:
    answer = ask(caller, operation, **members)

    assert (answer.status, answer.error["message"]) == (400, said)


@pytest.mark.parametrize(
    ("given", "count"), [("a", 1), (["a", "b", "c"], 3), ([TEXT, IMAGE], 1), ([TEXT], 1)]
)
def test_each_text_is_judged_and_a_message_as_one(
    site: Site, caller: Caller, given: Any, count: int
) -> None:
    client = OpenAI(base_url=f"{site.gateway.origin}/v1", api_key=caller.secret, max_retries=0)

    with client:
        found = client.moderations.create(model=caller.model, input=given)

    assert [one.flagged for one in found.results] == [n % 2 == 1 for n in range(count)]
    assert found.results[0].category_scores.violence == 0.25
    assert found.id.startswith("modr-")


def test_moderations_without_a_model_are_of_openais_default(site: Site, caller: Caller) -> None:
    client = OpenAI(base_url=f"{site.gateway.origin}/v1", api_key=caller.secret, max_retries=0)
    with client:
        with pytest.raises(NotFoundError, match="omni-moderation-latest"):
            client.moderations.create(input="a")
        site.add_model("omni-moderation-latest")
        found = client.moderations.with_raw_response.create(input="a")

    assert found.parse().model == "omni-moderation-latest"
    assert site.record(found.headers["x-request-id"])["model"] == "omni-moderation-latest"
    [tried] = site.tries(found.headers["x-request-id"])
    assert tried["model"] == "omni-moderation-latest"


def test_documents_come_back_in_the_order_of_their_relevance(caller: Caller) -> None:
    documents = ["long long long", {"text": "longest of all, by far"}, {"title": "x"}, "s"]

    answer = ask(caller, "rerank", documents=documents, return_documents=True, top_n=3)
    plain = ask(caller, "rerank", documents=documents)

    results = answer.json["results"]
    assert [one["index"] for one in results] == [1, 0, 2]
    assert [one["document"] for one in results] == [
        documents[1],
        {"text": documents[0]},
        documents[2],
    ]
    scores = [one["relevance_score"] for one in results]
    assert scores == sorted(scores, reverse=True)
    assert len(plain.json["results"]) == 4
    assert "document" not in plain.json["results"][0]
    assert plain.json["meta"]["billed_units"]["search_units"] == 1


def test_coheres_sdk_ranks(site: Site, caller: Caller) -> None:
    with httpx.Client() as connections:
        client = ClientV2(
            api_key=caller.secret,
            base_url=f"{site.gateway.origin}/v1",
            httpx_client=connections,
        )
        found = client.rerank(model=caller.model, query="x", documents=["a", "bbb", "cc"], top_n=2)

    assert [one.index for one in found.results] == [1, 2]


@pytest.mark.parametrize("form", [None, "url", "b64_json"])
def test_images_come_as_they_are_asked_for(site: Site, caller: Caller, form: Any) -> None:
    client = OpenAI(base_url=f"{site.gateway.origin}/v1", api_key=caller.secret, max_retries=0)
    members = {} if form is None else {"response_format": form}

    with client:
        found = client.images.generate(
            model=caller.model, prompt="a cat", n=2, size="1024x1536", **members
        )

    assert found.data is not None
    assert len(found.data) == 2
    assert [bool(one.url) for one in found.data] == [form == "url"] * 2
    assert found.size == "1024x1536"


def test_the_simulated_model_ranks_by_shared_words(caller: Caller) -> None:
    simulated = caller.with_(model="tollhouse/simulated")
    documents = ["red bicycles", "how to bake bread", "the price of bread in Paris"]

    ranked = ask(simulated, "rerank", query="bread in Paris", documents=documents, top_n=1)
    judged = ask(simulated, "moderations", input=["I hate you", "hello"])

    assert [one["index"] for one in ranked.json["results"]] == [2]
    assert [one["flagged"] for one in judged.json["results"]] == [True, False]
