"""What callers get: vectors of any input, in the form that they ask for."""

from __future__ import annotations

from typing import Any

import pytest

from tests.flows.caller import Caller
from tests.flows.embeddings.asking import as_float32, embed, upstream_vector, vectors
from tests.flows.site import NUSD_PER_USD, Site
from tests.flows.transports import both_transports
from tests.support.waiting import wait_until

INPUTS: dict[str, tuple[Any, list[int]]] = {
    "text": ("three words here", [3]),
    "texts": (["one", "now two", "and then three"], [1, 2, 3]),
    "tokens": ([5, 6, 7, 8], [4]),
    "lists of tokens": ([[5], [6, 7]], [1, 2]),
    "beyond ASCII": (["é 😀", "漢字"], [2, 1]),
    "as many as there may be": (["a"] * 2048, [1] * 2048),
}


@pytest.mark.parametrize("mount", ["/v1", "/api/v1", "/openai/v1", "/compat/bud/v1"])
def test_every_mount_has_the_endpoint(caller: Caller, mount: str) -> None:
    answer = embed(caller, "three words here", path=f"{mount}/embeddings")

    assert vectors(answer) == [upstream_vector(3)]
    assert answer.headers["content-type"] == "application/json"
    assert "total;dur=" in answer.headers["server-timing"]
    assert answer.json["object"] == "list"
    assert answer.json["id"] == f"embd-{answer.call_id}"
    assert answer.json["model"] == answer.headers["x-model-used"] == "fake-model"


@both_transports
@pytest.mark.parametrize("case", INPUTS)
@pytest.mark.parametrize("form", [None, "float", "base64"])
def test_each_input_has_its_vector(caller: Caller, case: str, form: str | None) -> None:
    given, tokens = INPUTS[case]

    answer = embed(caller, given, encoding_format=form)

    expected = [upstream_vector(count) for count in tokens]
    if form == "base64":
        expected = [as_float32(vector) for vector in expected]
    assert vectors(answer) == expected
    assert answer.json["usage"]["prompt_tokens"] == sum(tokens)
    assert answer.json["usage"]["total_tokens"] == sum(tokens)
    assert all(
        isinstance(one["embedding"], str) == (form == "base64") for one in answer.json["data"]
    )


@both_transports
@pytest.mark.parametrize("wanted", ["float", "base64"])
@pytest.mark.parametrize("sent", ["float", "base64"])
def test_callers_get_the_form_they_asked_for_whichever_comes(
    caller: Caller, wanted: str, sent: str
) -> None:
    answer = embed(caller, f"script:vectors={sent}", encoding_format=wanted)

    [vector] = vectors(answer)
    exact = upstream_vector(1)
    assert isinstance(answer.json["data"][0]["embedding"], str) == (wanted == "base64")
    assert vector == (exact if wanted == sent == "float" else as_float32(exact))


@both_transports
def test_numbers_pass_through_digit_by_digit(caller: Caller) -> None:
    digits = "[0.10000000000000000555, -1E-7,1.0e+2, 3]"

    answer = embed(caller, f"script:vectors=raw:{digits.replace('+', '%2B')}")

    assert f'"embedding":{digits}'.encode() in answer.body


def test_dimensions_are_the_callers(caller: Caller) -> None:
    assert len(vectors(embed(caller, "hello", dimensions=32))[0]) == 32


@pytest.mark.parametrize("how", ["backwards", "unnumbered"])
def test_vectors_are_in_the_order_of_the_inputs(caller: Caller, how: str) -> None:
    answer = embed(caller, [f"script:vectors={how}", "two words", "three words here"])

    counts = [vector[0] for vector in vectors(answer)]
    assert counts == [1, 2, 3]


KINDS: dict[str, dict[str, Any]] = {
    # Their address at the fake upstream: it refuses what they refuse.
    "openai": {"user": "someone", "dimensions": 4, "encoding_format": "base64"},
    "mistral": {"user": "someone", "dimensions": 4, "encoding_format": "base64"},
    "together": {"encoding_format": "base64"},
    "vllm": {"encoding_format": "base64"},
}


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_provider_is_asked_in_its_own_words(site: Site, kind: str) -> None:
    name = f"embedder-{kind}"
    address = f"{site.upstream.origin}/{kind}/v1"
    site.office.do("provider", name=name, kind=kind, base_url=address, credential="sk-x")
    caller = site.caller().with_(model=site.add_model(name, provider=name))

    answer = embed(caller, "hello there", **KINDS[kind])

    [vector] = vectors(answer)
    assert len(vector) == KINDS[kind].get("dimensions", 8)
    assert vector[1] == (kind != "together")
    assert answer.headers.get("x-dropped-params") == ("user" if kind == "mistral" else None)


def test_a_repeated_key_gets_the_same_vectors_for_nothing(site: Site, caller: Caller) -> None:
    headers = {"idempotency-key": "once"}

    first = embed(caller, "hello there", headers=headers)
    again = embed(caller, "hello there", headers=headers)
    other = embed(caller, "something else", headers=headers)

    assert (first.status, again.body) == (200, first.body)
    assert again.headers["idempotent-replayed"] == "true"
    assert (other.status, other.error["code"]) == (422, "idempotency_mismatch")
    assert site.record(first.call_id)["charge_nusd"] == 2_000
    assert site.balance_nusd(caller) == NUSD_PER_USD - 2_000


def test_a_fallback_model_serves_when_the_provider_fails(site: Site, caller: Caller) -> None:
    answer = embed(caller, ["script:fail=503", "b"], models=["tollhouse/simulated"], dimensions=16)

    assert [len(vector) for vector in vectors(answer)] == [16, 16]
    assert answer.headers["x-fallback-from"] == "fake-model"
    assert site.record(answer.call_id)["model"] == "tollhouse/simulated"


def test_bodies_are_stored_where_the_workspace_wants_them(site: Site, caller: Caller) -> None:
    site.office.do("store_bodies", workspace_id=caller.workspace_id)

    def stored() -> dict[str, str] | None:
        answer = embed(caller, "hello there")
        site.record(answer.call_id)
        return site.office.do("body", call_id=answer.call_id) or None

    found = wait_until(stored, what="a stored body")

    assert found is not None
    assert '"hello there"' in found["request"]
    assert '"embedding":[2.0,' in found["response"]


def test_the_record_and_usage_know_the_call(site: Site, caller: Caller) -> None:
    answer = embed(caller, ["one", "two words"], user="someone")
    site.record(answer.call_id)

    shown = caller.ask(method="GET", path=f"/v1/generation?id={answer.call_id}", raw=b"").json
    data = shown["data"]
    assert (data["tokens_prompt"], data["tokens_completion"], data["user"]) == (3, 0, "someone")
    assert data["cost_nano_usd"] == "3000"
    assert data["charge_basis"] == "usage"


def test_the_record_names_the_endpoint_of_the_call(site: Site, caller: Caller) -> None:
    chats = caller.with_(model="tollhouse/simulated")
    answers = [
        embed(caller, "one"),
        embed(caller.with_(model="no-such-model"), "one"),
        chats.ask("one"),
        chats.stream("one"),
        caller.with_(model="no-such-model").ask("one"),
    ]

    assert [answer.status for answer in answers] == [200, 404, 200, 200, 404]
    names = []
    for answer in answers:
        site.record(answer.call_id)
        path = f"/v1/generation?id={answer.call_id}"
        names.append(caller.ask(method="GET", path=path, raw=b"").json["data"]["ingress_format"])
    assert names == [*["embeddings"] * 2, *["chat_completions"] * 3]


def test_the_simulated_model_finds_the_text_with_the_most_words_of_the_question(
    caller: Caller,
) -> None:
    texts = ["red bicycles and blue cars", "how to bake bread", "the price of bread in Paris"]

    answer = embed(caller.with_(model="tollhouse/simulated"), [*texts, "bread in Paris"])
    again = embed(caller.with_(model="tollhouse/simulated"), texts[0], encoding_format="base64")

    *found, question = vectors(answer)
    likeness = [sum(a * b for a, b in zip(one, question, strict=True)) for one in found]
    assert max(range(3), key=likeness.__getitem__) == 2
    assert vectors(again) == [as_float32(found[0])]
