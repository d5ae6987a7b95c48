"""A call with require_local only goes to providers that are marked as on-premises."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.flows.caller import Answer, Caller
from tests.flows.site import NUSD_PER_USD, Site
from tests.support.waiting import wait_until

BOTH = pytest.mark.parametrize("stream", [False, True], ids=["buffered", "streamed"])
LOCAL: dict[str, Any] = {"inferada": {"processors": ["require_local"]}}


@pytest.fixture(scope="module")
def models(site: Site) -> None:
    """inside, at a provider on premises; outside; mixed, first outside and then inside; and three
    whose first provider is away: lost-inside, which falls back to outside and inside, lost-outside,
    which falls back to outside, and lost-mixed, whose second provider is outside."""
    do = site.office.do
    for name, is_local in (("inside", True), ("outside", False)):
        do("provider", name=name, base_url=site.upstream.base_url, is_local=is_local)
    do("provider", name="lost-local", base_url="http://127.0.0.1:1/v1", is_local=True)
    do("model", name="inside", provider="inside", native_model="in")
    do("model", name="outside", provider="outside", native_model="out")
    do("model", name="mixed", provider="outside", native_model="out")
    do("target", model="mixed", provider="inside")
    do("model", name="lost-mixed", provider="lost-local")
    do("target", model="lost-mixed", provider="outside")
    do("model", name="lost-outside", provider="lost-local", fallbacks=["outside"])
    site.add_model("lost-inside", provider="lost-local", fallbacks=["outside", "inside"])


@pytest.fixture
def caller(site: Site, models: None) -> Caller:
    return site.caller(credit_nusd=10 * NUSD_PER_USD)


def asked(site: Site, answer: Answer) -> list[str]:
    """Return the models that the upstream was asked for."""
    return [str(each["model"]) for each in site.tries(answer.call_id)]


@BOTH
def test_a_model_on_premises_serves_the_call_and_the_answer_says_so(
    site: Site, caller: Caller, stream: bool
) -> None:
    answer = caller.ask("Hi", model="inside", stream=stream, **LOCAL)

    told = [one["inferada"] for one in answer.chunks if "inferada" in one] if stream else None
    [summary] = told or [answer.json["inferada"]]
    report = summary["processors"]["require_local"]
    assert report.pop("duration_ms") >= 0
    assert report == {"status": "passed", "upstream": "on_prem"}
    assert asked(site, answer) == ["in"]
    [use] = site.record(answer.call_id)["processors"]
    assert (use["name"], use["status"]) == ("require_local", "passed")


@BOTH
def test_a_model_elsewhere_is_refused_and_nothing_is_sent(
    site: Site, caller: Caller, stream: bool
) -> None:
    answer = caller.ask("Hi", model="outside", stream=stream, **LOCAL)

    assert (answer.status, answer.error["code"]) == (422, "processor_policy_rejection")
    assert (answer.error["param"], answer.error["details"]) == (
        "model",
        {"processor": "require_local", "reason": "no_local_provider"},
    )
    assert asked(site, answer) == []
    assert site.balance_nusd(caller) == 10 * NUSD_PER_USD


@BOTH
def test_of_several_targets_only_those_on_premises_are_tried(
    site: Site, caller: Caller, stream: bool
) -> None:
    free = caller.ask("Hi", model="mixed", stream=stream)
    local = caller.ask("Hi", model="mixed", stream=stream, **LOCAL)
    lost = caller.ask("Hi", model="lost-mixed", stream=stream, **LOCAL)

    assert (free.status, local.status) == (200, 200)
    # "second" is the model's name at its second target.
    assert (asked(site, free), asked(site, local)) == (["out"], ["second"])
    assert (lost.status >= 500, asked(site, lost)) == (True, [])


@BOTH
def test_fallback_models_elsewhere_are_left_out(site: Site, caller: Caller, stream: bool) -> None:
    served = caller.ask("Hi", model="lost-inside", stream=stream, **LOCAL)
    lost = caller.ask("Hi", model="lost-outside", stream=stream, **LOCAL)
    own = {"models": ["outside", "mixed"], **LOCAL}
    named = caller.ask("Hi", model="lost-outside", stream=stream, **own)

    assert (served.status, asked(site, served)) == (200, ["in"])
    assert (lost.status >= 500, asked(site, lost)) == (True, [])
    assert (named.status, asked(site, named)) == (200, ["second"])


@pytest.mark.parametrize("path", ["/v1/messages", "/v1/responses"])
def test_it_works_in_every_chat_format(site: Site, caller: Caller, path: str) -> None:
    def ask(model: str) -> Answer:
        chat = {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 50}
        body = {"input": "Hi"} if path == "/v1/responses" else chat
        return caller.ask(path=path, raw=json.dumps({"model": model, **body, **LOCAL}).encode())

    local, away = ask("mixed"), ask("outside")

    assert (local.status, asked(site, local)) == (200, ["second"])
    assert (away.status, asked(site, away)) == (422, [])


def test_a_provider_that_is_no_more_on_premises_gets_none(site: Site, caller: Caller) -> None:
    do = site.office.do
    do("provider", name="moving", base_url=site.upstream.base_url, is_local=True)
    site.add_model("moving", provider="moving")
    before = caller.ask("Hi", model="moving", **LOCAL)

    do("describe_provider", name="moving", is_local=False)

    assert before.status == 200
    wait_until(
        lambda: caller.ask("Hi", model="moving", **LOCAL).status == 422, what="the provider's move"
    )


def test_the_catalogue_lists_what_runs_with_its_options(site: Site, caller: Caller) -> None:
    listed = [
        caller.ask(method="GET", path=f"{mount}/processors", raw=b"").json
        for mount in ("/v1", "/api/v1")
    ]
    unscoped = site.caller(scopes=["usage"]).ask(method="GET", path="/v1/processors", raw=b"")

    assert listed[0] == listed[1]
    by_id = {one["id"]: one for one in listed[0]["data"]}
    assert by_id["require_local"] == {
        "id": "require_local",
        "object": "processor",
        "description": "Sends the call only to providers marked as on-premises.",
        "scope": "completions",
        "needs_language": False,
        "languages": [],
        "mandatory": False,
        "options": None,
    }
    assert all(
        one["options"] is None or one["options"]["type"] == "object" for one in by_id.values()
    )
    assert (unscoped.status, unscoped.error["details"]["required_scope"]) == (403, "completions")
