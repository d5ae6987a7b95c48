"""Processors that a workspace makes mandatory: nothing passes without them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.flows.caller import Answer, Caller
from tests.flows.processors.faulty_engines import HANGING, KILLED
from tests.flows.processors.personal import EMAIL, IBAN, Way, read, send, summary_of
from tests.flows.site import NUSD_PER_USD, Site
from tests.support.waiting import wait_until

WAYS = [
    Way(form, "fake-model", stream)
    for form in ("chat", "messages", "responses")
    for stream in (False, True)
]


def require(site: Site, caller: Caller, name: str, *more: str) -> Any:
    arguments = [caller.workspace_id, name, *more]
    return site.office.do("command", name="set_processor", arguments=arguments)


def anonymising(site: Site, *, key: bool = False) -> Caller:
    """Return a caller whose key has no scope for processors, and must anonymise."""
    caller = site.caller(credit_nusd=10 * NUSD_PER_USD, scopes=["completions"])
    of_key = ["--key", caller.key_id] if key else []
    require(site, caller, "anonymise", "--language", "en", *of_key)
    wait_until(lambda: "inferada" in caller.ask("script:text=x").json, what="the rule to apply")
    return caller


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_every_chat_endpoint_goes_through_it(faulty_site: Site, way: Way) -> None:
    caller = anonymising(faulty_site)
    text = f"Mail {EMAIL}"

    answer = send(caller, way, f"script:noted&cut=3&text={text}")

    assert read(way, answer).text == text
    [entry] = faulty_site.tries(answer.call_id)
    assert EMAIL not in entry["body"]
    assert summary_of(answer)["processors"]["anonymise"]["restored"] == 1


def test_a_caller_can_add_but_not_take_away(faulty_site: Site) -> None:
    caller = anonymising(faulty_site)
    weaker = {"processors": [], "anonymise": {"entities": ["IBAN_CODE"], "score_threshold": 1}}
    more = {**weaker, "processors": ["prompt_shield"]}

    for asked, ran in ((weaker, ["anonymise"]), (more, ["anonymise", "prompt_shield"])):
        answer = caller.ask(f"script:noted&text={EMAIL} {IBAN}", inferada=asked)

        assert list(answer.json["inferada"]["processors"]) == ran
        [entry] = faulty_site.tries(answer.call_id)
        assert EMAIL not in entry["body"]


def test_endpoints_that_are_not_processed_are_refused(faulty_site: Site) -> None:
    caller = anonymising(faulty_site)
    faulty_site.add_model("any-operation")
    asked = {
        "/v1/completions": {"model": "any-operation", "prompt": EMAIL},
        "/v1/embeddings": {"model": "any-operation", "input": EMAIL},
        "/v1/moderations": {"model": "any-operation", "input": EMAIL},
    }

    for path, body in asked.items():
        answer = caller.ask(path=path, raw=json.dumps(body).encode())

        assert (answer.status, answer.error["code"]) == (422, "processor_policy_rejection"), path
        assert answer.error["details"]["reason"] == "endpoint_not_processed"
        assert faulty_site.tries(answer.call_id) == []


def test_it_can_be_for_one_key_and_ends_when_it_is_removed(faulty_site: Site) -> None:
    caller = anonymising(faulty_site, key=True)
    other = faulty_site.another_key(caller.workspace_id, scopes=["completions"])

    free = other.ask("script:text=x")
    removed = require(faulty_site, caller, "anonymise", "--key", caller.key_id, "--remove")

    assert "inferada" not in free.json
    assert removed["changed"] is True
    wait_until(lambda: "inferada" not in caller.ask("script:text=x").json, what="it to end")


def test_only_local_providers_serve_other_endpoints_too(faulty_site: Site) -> None:
    caller = faulty_site.caller(scopes=["completions"])
    require(faulty_site, caller, "require_local")
    body = json.dumps({"model": "fake-model", "input": "x"}).encode()

    def embed() -> Answer:
        return caller.ask(path="/v1/embeddings", raw=body)

    wait_until(lambda: embed().status == 422, what="the rule to apply")
    assert embed().error["details"]["reason"] == "no_local_provider"


@pytest.mark.parametrize("fault", [KILLED, HANGING])
def test_nothing_goes_on_when_its_engine_fails(faulty_site: Site, fault: str) -> None:
    caller = anonymising(faulty_site)

    answer = caller.ask(f"{fault} {EMAIL}")

    assert (answer.status, answer.error["code"]) == (502, "processor_failure")
    assert faulty_site.tries(answer.call_id) == []


@pytest.mark.parametrize(
    ("name", "more", "word"),
    [
        ("haystack", [], "mandatory"),
        ("nothing", [], "mandatory"),
        ("anonymise", [], "language"),
        ("anonymise", ["--language", "ja"], "One of"),
        ("anonymise", ["--language", "en", "--options", '{"entities": ["SHOE"]}'], "SHOE"),
        ("pii_guard", ["--options", '{"service_id": "none"}'], "none"),
        ("pii_guard", ["--options", '{"threshold": 1}'], "threshold"),
        ("prompt_shield", ["--options", "[]"], "JSON object"),
    ],
)
def test_what_no_call_could_pass_is_not_taken(
    faulty_site: Site, name: str, more: list[str], word: str
) -> None:
    caller = faulty_site.caller()

    with pytest.raises(AssertionError, match=word):
        require(faulty_site, caller, name, *more)
