"""Services of a workspace's own: what they find counts, and where they fail nothing goes on."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.text_services import NAMES, TOKEN, TextServices, running_text_services
from tests.flows.caller import Answer, Caller
from tests.flows.office import open_office
from tests.flows.processors.faulty_engines import ENV
from tests.flows.processors.personal import EMAIL
from tests.flows.site import NUSD_PER_USD, Site, running_site
from tests.support.waiting import wait_until

NETWORKS = {"TOLLHOUSE_FETCH_ALLOWED_NETWORKS": "127.0.0.0/8"}
[NAME, _] = NAMES


@pytest.fixture(scope="module")
def services() -> Iterator[TextServices]:
    with running_text_services() as running:
        yield running


@pytest.fixture(autouse=True)
def healthy(services: TextServices) -> None:
    services.fault = ""
    services.asked.clear()


@pytest.fixture(scope="module")
def own_site(home_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    home = Path(shutil.copytree(home_template, tmp_path_factory.mktemp("services") / "home"))
    env = {**ENV, **NETWORKS, "OWN_TOKEN": TOKEN}
    with running_site(home, env) as running:
        yield running


@pytest.fixture(scope="module")
def own_caller(own_site: Site, services: TextServices) -> Caller:
    scopes = ["completions", "pii", "language"]
    caller = own_site.caller(credit_nusd=10 * NUSD_PER_USD, scopes=scopes)
    for name, kind, path in (("names", "presidio", "presidio"), ("words", "languagetool", "lt")):
        url = f"{services.origin}/{path}"
        more = ["--credential-env", "OWN_TOKEN"] if name == "names" else []
        command(
            own_site, "set_processor_service", caller.workspace_id, name, "--kind", kind,
            "--url", url, *more,
        )  # fmt: skip
    wait_until(lambda: find(caller, "x").status == 200, what="the services to be known")
    return caller


def command(site: Site, name: str, *arguments: str) -> Any:
    return site.office.do("command", name=name, arguments=arguments)


def find(caller: Caller, text: str, service_id: str = "names") -> Answer:
    body = {"text": text, "language": "en", "service_id": service_id}
    return caller.ask(path="/v1/pii/analyse", raw=json.dumps(body).encode())


def inferada(*names: str) -> dict[str, Any]:
    own = {"service_id": "names"}
    words = {"service_id": "words"}
    return {
        "processors": list(names),
        "language": "en",
        **{name: words if name == "spellcheck" else own for name in names},
    }


def test_names_are_found_by_the_service_beside_what_is_found_here(
    own_site: Site, own_caller: Caller, services: TextServices
) -> None:
    text = f"{NAME}, {EMAIL}"

    found = find(own_caller, text).json
    answer = own_caller.ask(f"script:noted&text={text}", inferada=inferada("anonymise"))

    assert found["entity_types_found"] == ["EMAIL_ADDRESS", "PERSON"]
    assert [one["text"] for one in found["entities"]] == [NAME, EMAIL]
    assert answer.text == text
    [entry] = own_site.tries(answer.call_id)
    assert NAME not in entry["body"]
    assert EMAIL not in entry["body"]
    path, headers, body = services.asked[0]
    assert (path, headers["authorization"]) == ("/presidio/analyze", f"Bearer {TOKEN}")
    assert json.loads(body) == {"text": text, "language": "en", "score_threshold": 0.7}


def test_a_service_corrects_the_answer_but_no_code(own_caller: Caller) -> None:
    said = "😀 helo, `helo` I recieve"

    answer = own_caller.ask(f"script:text={said}", inferada=inferada("spellcheck"))

    assert answer.text == "😀 hello, `helo` I receive"


@pytest.mark.parametrize("fault", ["hang", "refuse", "babble"])
@pytest.mark.parametrize("name", ["anonymise", "pii_guard", "haystack", "spellcheck"])
def test_nothing_goes_on_where_a_service_fails(
    own_site: Site, own_caller: Caller, services: TextServices, name: str, fault: str
) -> None:
    services.fault = fault
    asked = inferada(name)
    if name == "haystack":
        asked["haystack"] |= {"data": {"who": NAME}, "redact": True}

    answer = own_caller.ask(f"script:text=secret {NAME} helo", inferada=asked)

    assert (answer.status, answer.error["code"]) == (502, "processor_failure")
    assert len(services.asked) == 4
    assert b"helo" not in answer.body
    assert NAME.encode() not in answer.body
    if name == "spellcheck":
        # Our fault: the caller pays nothing for it.
        assert own_site.record(answer.call_id)["charge_basis"] == "zero_platform"
    else:
        assert own_site.tries(answer.call_id) == []


def test_a_service_of_another_kind_or_workspace_is_refused(
    own_site: Site, own_caller: Caller
) -> None:
    stranger = own_site.caller(scopes=["completions", "pii"])
    swapped = inferada("anonymise") | {"anonymise": {"service_id": "words"}}

    for caller, asked in ((stranger, inferada("anonymise")), (own_caller, swapped)):
        answer = caller.ask("Hi", inferada=asked)

        assert (answer.status, answer.error["param"]) == (400, "inferada.anonymise.service_id")


def test_a_private_address_needs_the_operators_leave(
    faulty_site: Site, services: TextServices
) -> None:
    caller = faulty_site.caller(scopes=["pii"])
    url = f"{services.origin}/presidio"
    arguments = [caller.workspace_id, "names", "--kind", "presidio", "--url", url, "--test"]

    with pytest.raises(AssertionError, match="Private addresses"):
        command(faulty_site, "set_processor_service", *arguments)
    # As if the operator no longer allowed the network.
    with open_office(faulty_site.gateway.home, {**ENV, **NETWORKS}) as before:
        before.do("command", name="set_processor_service", arguments=arguments[:-1])
    wait_until(lambda: find(caller, "x").status != 400, what="the service to be known")
    refused = find(caller, NAME)
    tested = command(faulty_site, "set_processor_service", *arguments[:2], "--test")

    assert tested["test"].startswith("The test failed")
    assert (refused.status, refused.error["code"]) == (502, "processor_failure")
    assert services.asked == []


def test_rules_of_hosts_apply_to_services_too(own_site: Site, services: TextServices) -> None:
    caller = own_site.caller(scopes=["pii"])
    url = f"{services.origin}/presidio"
    arguments = [caller.workspace_id, "names", "--kind", "presidio", "--url", url]
    command(own_site, "set_processor_service", *arguments)
    wait_until(lambda: find(caller, "x").status == 200, what="the service to be known")

    own_site.office.do("access_rules", workspace_id=caller.workspace_id, denied_hosts=["127.0.0.1"])
    wait_until(lambda: find(caller, "x").status == 502, what="the denied host")
    services.asked.clear()
    refused = find(caller, NAME)
    tested = command(own_site, "set_processor_service", caller.workspace_id, "names", "--test")

    assert (refused.status, refused.error["code"]) == (502, "processor_failure")
    assert "do not allow its host" in tested["test"]
    assert services.asked == []


def test_a_service_is_tested_changed_and_removed(own_site: Site, services: TextServices) -> None:
    caller = own_site.caller(scopes=["pii"])
    at = [caller.workspace_id, "mine"]
    good = ["--url", f"{services.origin}/presidio"]

    made = command(own_site, "set_processor_service", *at, "--kind", "presidio", *good, "--test")
    wait_until(
        lambda: command(own_site, "set_processor_service", *at, *good)["changed"] is False,
        what="nothing to change",
    )
    moved = command(own_site, "set_processor_service", *at, "--url", f"{services.origin}/x")
    gone = command(own_site, "set_processor_service", *at, "--remove")

    assert made["test"].startswith("The service works.")
    assert (moved["changed"], gone["exists"]) == (True, False)


def test_each_key_has_its_rules_once_beside_all_services(
    own_site: Site, services: TextServices
) -> None:
    scopes = ["completions", "pii", "usage"]
    caller = own_site.caller(scopes=scopes)
    other = own_site.another_key(caller.workspace_id, scopes=scopes)
    url = ["--url", f"{services.origin}/presidio"]
    tokens = {"names": TOKEN, "more": "", "most": TOKEN}
    for name, token in tokens.items():
        more = ["--credential-env", "OWN_TOKEN"] if token else []
        arguments = [caller.workspace_id, name, "--kind", "presidio", *url, *more]
        command(own_site, "set_processor_service", *arguments)
    english, of_key = ["--language", "en"], ["--key", caller.key_id]
    asks_more = ["--options", '{"service_id": "more"}']
    for name, arguments in (
        ("spellcheck", english),
        ("anonymise", english),
        ("anonymise", [*english, *asks_more, *of_key]),
        ("require_local", of_key),
    ):
        command(own_site, "set_processor", caller.workspace_id, name, *arguments)

    def read(who: Caller) -> list[tuple[str, Any]]:
        key = who.ask(method="GET", path="/v1/key", raw=b"").json["data"]
        return [(one["id"], one["options"]) for one in key["mandatory_processors"]]

    wait_until(lambda: len(read(caller)) == 3, what="the rules to apply")
    assert sorted(read(other)) == [("anonymise", {}), ("spellcheck", {})]
    assert sorted(read(caller)) == [
        ("anonymise", {"service_id": "more"}),
        ("require_local", {}),
        ("spellcheck", {}),
    ]
    for name, token in tokens.items():
        for who in (caller, other):
            assert find(who, NAME, name).json["entity_types_found"] == ["PERSON"]
            _, headers, _ = services.asked[-1]
            assert headers.get("authorization", "") == (f"Bearer {token}" if token else "")
