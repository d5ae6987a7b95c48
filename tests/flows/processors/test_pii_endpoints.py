"""POST /pii/analyse, /pii/redact and /pii/restore."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.flows.caller import Answer, Caller
from tests.flows.processors.faulty_engines import HANGING, KILLED
from tests.flows.processors.personal import EMAIL, IBAN
from tests.flows.site import Site

TEXT = f"😀 Mail {EMAIL}, pay {IBAN}, then mail {EMAIL}."
SEARCHES = ("pii/analyse", "pii/redact")


@pytest.fixture
def caller(faulty_site: Site) -> Caller:
    return faulty_site.caller(scopes=["pii"])


def ask(caller: Caller, path: str, *, mount: str = "/v1", **members: Any) -> Answer:
    return caller.ask(path=f"{mount}/{path}", raw=json.dumps(members).encode())


@pytest.mark.parametrize("mount", ["/v1", "/compat/inferada/v1"])
def test_what_is_found_is_said_with_its_place(caller: Caller, mount: str) -> None:
    found = ask(caller, "pii/analyse", mount=mount, text=TEXT, language="en-GB").json

    assert (found["has_pii"], found["entity_types_found"]) == (True, ["EMAIL_ADDRESS", "IBAN_CODE"])
    assert [one["text"] for one in found["entities"]] == [EMAIL, IBAN, EMAIL]
    for one in found["entities"]:
        assert TEXT[one["start"] : one["end"]] == one["text"]
        assert 0.7 <= one["score"] <= 1


def test_nothing_is_found_where_nothing_is(caller: Caller) -> None:
    found = ask(caller, "pii/analyse", text="Wat is het weer?").json
    other = ask(caller, "pii/analyse", text=TEXT, entities=["PHONE_NUMBER"]).json

    assert found == other == {"has_pii": False, "entities": [], "entity_types_found": []}


def test_a_text_comes_back_from_its_placeholders(caller: Caller) -> None:
    text = f"<EMAIL_ADDRESS_1> is mine. {TEXT}"

    done = ask(caller, "pii/redact", text=text, language="en").json
    restored = ask(caller, "pii/restore", text=done["redacted_text"], mapping=done["mapping"]).json

    assert done["redacted_text"] == (
        "<EMAIL_ADDRESS_1> is mine. 😀 Mail <EMAIL_ADDRESS_2>, pay <IBAN_CODE_1>, "
        "then mail <EMAIL_ADDRESS_2>."
    )
    assert done["mapping"] == {"<EMAIL_ADDRESS_2>": EMAIL, "<IBAN_CODE_1>": IBAN}
    assert [one["text"] for one in done["entities"]] == [EMAIL, IBAN, EMAIL]
    assert restored == {"text": text}


def test_what_came_in_by_a_placeholder_is_not_looked_at_again(caller: Caller) -> None:
    mapping = {"<A_1>": "<B_1>", "<B_1>": "x"}

    assert ask(caller, "pii/restore", text="<A_1> <B_1> <C_1>", mapping=mapping).json == {
        "text": "<B_1> x <C_1>"
    }


WRONG: list[tuple[str, dict[str, Any], int, str]] = [
    ("pii/analyse", {}, 400, "text"),
    ("pii/analyse", {"text": "x" * 20_001}, 400, "text"),
    ("pii/redact", {"text": "x", "score_threshold": 2}, 400, "score_threshold"),
    ("pii/redact", {"text": "x", "entities": ["SHOE_SIZE"]}, 400, "entities[0]"),
    ("pii/redact", {"text": "x", "service_id": "none"}, 400, "service_id"),
    ("pii/analyse", {"text": "x", "language": "sv"}, 422, "language"),
    ("pii/restore", {"text": "x"}, 400, "mapping"),
    ("pii/restore", {"text": "x", "mapping": {"x": "y"}}, 400, "mapping"),
    ("pii/restore", {"text": "<A_1>" * 200, "mapping": {"<A_1>": "y" * 9000}}, 400, "mapping"),
]


@pytest.mark.parametrize(("path", "members", "status", "param"), WRONG)
def test_bad_requests_are_refused(
    caller: Caller, path: str, members: dict[str, Any], status: int, param: str
) -> None:
    answer = ask(caller, path, **members)

    assert (answer.status, answer.error["param"]) == (status, param)


@pytest.mark.parametrize("path", [*SEARCHES, "pii/restore"])
def test_they_need_a_key_with_the_scope(faulty_site: Site, caller: Caller, path: str) -> None:
    other = faulty_site.another_key(caller.workspace_id, scopes=["completions", "language"])

    refused = ask(other, path, text="x")

    assert (refused.status, refused.error["code"]) == (403, "insufficient_scope")
    assert refused.error["details"]["required_scope"] == "pii"


@pytest.mark.parametrize("fault", [KILLED, HANGING])
def test_an_engine_that_fails_is_said_to_have_failed(caller: Caller, fault: str) -> None:
    failed = [ask(caller, path, text=f"{fault}, {EMAIL}") for path in SEARCHES]
    after = ask(caller, "pii/analyse", text=EMAIL)

    assert {(one.status, one.error["code"]) for one in failed} == {(502, "processor_failure")}
    assert not [one for one in failed if EMAIL.encode() in one.body]
    assert after.json["has_pii"]
