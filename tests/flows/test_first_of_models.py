"""Chat completions that name their model in `models` alone, as OpenRouter takes them."""

from __future__ import annotations

import json

import pytest

from tests.flows.caller import Caller
from tests.flows.site import Site


@pytest.fixture(scope="session")
def names(site: Site) -> list[str]:
    do = site.office.do
    do("provider", name="unreachable", base_url="http://127.0.0.1:1/v1")
    do("model", name="in-order", provider="fake")
    do("model", name="not-wanted", provider="fake")
    site.add_model("out-of-order", provider="unreachable", fallbacks=["not-wanted"])
    return ["out-of-order", "in-order"]


@pytest.fixture
def nameless(site: Site, names: list[str]) -> Caller:
    return site.caller().with_(model=None)


def test_the_first_is_asked_for(site: Site, nameless: Caller) -> None:
    answer = nameless.ask("script:echo", models=["in-order", "not-wanted"])

    assert answer.status == 200, answer.body
    assert answer.headers["x-model-used"] == "in-order"
    assert "x-fallback-from" not in answer.headers
    sent = json.loads(answer.echo["body_text"])
    assert isinstance(sent["model"], str)
    assert "models" not in sent
    assert site.record(answer.call_id)["model"] == "in-order"


@pytest.mark.parametrize("stream", [False, True], ids=["buffered", "streamed"])
def test_the_others_serve_when_it_fails(nameless: Caller, names: list[str], stream: bool) -> None:
    answer = nameless.ask(models=names, stream=stream)

    assert answer.status == 200, answer.body
    assert answer.headers["x-model-used"] == "in-order"
    assert answer.headers["x-fallback-from"] == "out-of-order"
    assert answer.headers["x-fallback-depth"] == "1"


def test_alone_it_has_no_fallback(nameless: Caller) -> None:
    alone = nameless.ask(models=["out-of-order"])
    disabled = nameless.ask(
        models=["out-of-order", "in-order"], headers={"x-disable-fallback": "true"}
    )

    for answer in (alone, disabled):
        used = {attempt["model"] for attempt in answer.error["details"]["attempts"]}
        assert used == {"out-of-order"}


@pytest.mark.parametrize(
    ("models", "status", "param"),
    [
        (None, 400, "model"),
        ([], 400, "model"),
        ([""], 400, "models[0]"),
        (["no-such-model", "in-order"], 404, "model"),
        (["in-order", "no-such-model"], 404, "models[1]"),
    ],
)
def test_without_any_model_or_with_a_wrong_one_it_is_refused(
    nameless: Caller, models: list[str] | None, status: int, param: str
) -> None:
    answer = nameless.ask(models=models)

    assert (answer.status, answer.error["param"]) == (status, param)


def test_the_document_asks_for_one_of_both(nameless: Caller) -> None:
    document = nameless.ask(method="GET", path="/v1/openapi.json", raw=b"").json

    schema = document["components"]["schemas"]["ChatCompletionRequest"]
    assert "model" not in schema["required"]
    choices = [rule["anyOf"] for rule in schema["allOf"] if "anyOf" in rule]
    assert [["model"], ["models"]] in [[one.get("required") for one in each] for each in choices]
