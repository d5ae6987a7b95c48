"""Processors that a workspace makes mandatory: nothing passes without them."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlencode

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


def test_a_caller_s_language_hides_nothing(faulty_site: Site) -> None:
    caller = faulty_site.caller(credit_nusd=10 * NUSD_PER_USD, scopes=["completions"])
    require(faulty_site, caller, "anonymise", "--language", "nl")
    wait_until(lambda: "inferada" in caller.ask("script:text=x").json, what="the rule to apply")
    # Without a word that names it, it counts in Dutch texts alone.
    number = "111222333"

    for language in ("en", "fr-FR", None):
        answer = caller.ask(f"script:noted&text={number}", inferada={"language": language})

        assert answer.text == number
        [entry] = faulty_site.tries(answer.call_id)
        assert number not in entry["body"], language
    refused = caller.ask(number, inferada={"language": "ja"})
    assert (refused.status, refused.error["code"]) == (422, "language_not_supported")
    assert faulty_site.tries(refused.call_id) == []


def test_a_guard_searches_all_languages_whatever_a_caller_names(faulty_site: Site) -> None:
    caller = faulty_site.caller(scopes=["completions"])
    require(faulty_site, caller, "pii_guard")
    number = "111222333"
    wait_until(lambda: caller.ask(EMAIL).status == 422, what="the rule to apply")

    answers = [caller.ask(number, inferada={"language": one}) for one in ("en", "ja")]

    codes = ["processor_policy_rejection", "language_not_supported"]
    assert [answer.error["code"] for answer in answers] == codes
    assert all(faulty_site.tries(answer.call_id) == [] for answer in answers)


def test_a_mandatory_spellcheck_corrects_in_its_own_language_too(faulty_site: Site) -> None:
    caller = faulty_site.caller(scopes=["completions"])
    require(faulty_site, caller, "spellcheck", "--language", "en")
    wait_until(lambda: "inferada" in caller.ask("script:text=x").json, what="the rule to apply")
    said = "Your pakage was delivered to the wrong adress yesterday, please call us."
    script = urlencode({"text": said, "cut": 5, "tokens": len(said)})

    answer = caller.ask(f"script:{script}", inferada={"language": "pt"})

    assert answer.text == said.replace("pakage", "package").replace("adress", "address")


def test_a_key_reads_what_is_mandatory_for_it(faulty_site: Site) -> None:
    caller = faulty_site.caller(scopes=["completions", "usage"])
    other = faulty_site.another_key(caller.workspace_id, scopes=["completions", "usage"])
    require(faulty_site, caller, "prompt_shield")
    options = '{"score_threshold": 0.6}'
    of_key = ("--language", "en", "--options", options, "--key", caller.key_id)
    require(faulty_site, caller, "anonymise", *of_key)

    def read(who: Caller) -> tuple[list[dict[str, Any]], list[str]]:
        key = who.ask(method="GET", path="/v1/key", raw=b"").json["data"]
        listed = who.ask(method="GET", path="/v1/processors", raw=b"").json["data"]
        return key["mandatory_processors"], [one["id"] for one in listed if one["mandatory"]]

    shield: dict[str, Any] = {"id": "prompt_shield", "options": {}, "language": None}
    wait_until(lambda: len(read(caller)[0]) == 2, what="the rules to apply")
    anonymise = {"id": "anonymise", "options": {"score_threshold": 0.6}, "language": "en"}
    assert read(caller) == ([anonymise, shield], ["anonymise", "prompt_shield"])
    assert read(other) == ([shield], ["prompt_shield"])


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
