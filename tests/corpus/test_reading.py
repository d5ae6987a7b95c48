"""Group M: models and the other addresses that are read.

Not here, because there is nothing of the kind yet: a limit on how often they are read (M8).
The list has no code of its own for a cursor: what is wrong with one is `invalid_request`.
"""

from __future__ import annotations

import json
from urllib.parse import quote

import pytest

from tests.corpus.oracle import Witness, assert_refused
from tests.corpus.wire import request, talk, with_key
from tests.flows.caller import Answer, Caller
from tests.flows.site import Site

ALLOWED = ["free-model", "small-model"]
MOUNTS = ("/v1", "/api/v1", "/openai/v1", "/compat/unified/v1")


def read(site: Site, caller: Caller, path: str) -> Answer:
    raw = request(line=f"GET {path} HTTP/1.1", body=b"", sized=False)
    return talk(site.gateway.port, with_key(raw, caller.secret), answers=1).answer


def names(answer: Answer) -> list[str]:
    assert answer.status == 200, answer.body
    return [model["id"] for model in answer.json["data"]]


@pytest.fixture(scope="module")
def limited(site: Site) -> Caller:
    return site.caller(allowed_models=ALLOWED)


@pytest.mark.parametrize("mount", MOUNTS)
def test_a_key_lists_what_it_may_use(  # M1
    site: Site, healthy: Caller, limited: Caller, witness: Witness, mount: str
) -> None:
    everything = names(read(site, healthy, f"{mount}/models"))

    assert names(read(site, limited, f"{mount}/models")) == ALLOWED
    assert everything == sorted(everything)
    assert {"fake-model", *ALLOWED} < set(everything)


def test_no_key_is_given_the_list_of_another(  # M8
    site: Site, healthy: Caller, limited: Caller, witness: Witness
) -> None:
    everything = site.gateway.offered()
    line = request(line="GET /v1/models HTTP/1.1", body=b"", sized=False)
    both = with_key(line, healthy.secret) + with_key(line, limited.secret)

    answers = talk(site.gateway.port, both * 25, answers=50).answers

    assert [names(answer) for answer in answers] == [everything, ALLOWED] * 25


def test_a_hidden_model_is_as_absent_as_one_that_never_was(  # M2
    site: Site, limited: Caller, witness: Witness
) -> None:
    told = []

    for name in ("fake-model", "none-model"):
        answer = read(site, limited, f"/v1/models/{name}")
        assert_refused(answer, 404, "model_not_found")
        told.append(answer.body.replace(name.encode(), b"?").replace(answer.call_id.encode(), b""))

    assert told[0] == told[1]


STRANGE = (
    *("%2e%2e", "%2e%2e%2f%2e%2e%2fetc%2fpasswd", "..%2f", "a" * 7_000, "%00", "fake-model%00"),
    *("%F0%9F%98%80", "%ff%fe", "%ED%A0%80", "%C0%AF", "%3Cscript%3E", "%25"),
    *("fake-model/", "fake-model/x", "FAKE-MODEL", "fake-model%20", "%20", "' OR 1=1 --", "*"),
    *("{{7*7}}", "${jndi:ldap://127.0.0.1/x}", "%E2%80%AEledom", "fake-model;a", "fake-model:chat"),
)


@pytest.mark.parametrize("name", STRANGE, ids=lambda name: name[:20])
def test_a_strange_name_is_no_model(  # M3
    site: Site, healthy: Caller, witness: Witness, name: str
) -> None:
    answer = read(site, healthy, f"/v1/models/{quote(name, safe='%/:;*')}")

    assert_refused(answer, 404, "model_not_found")


@pytest.mark.parametrize("path", ["..", "../v1/models", "./fake-model", "", "%0d%0aX-A:%20b"])
def test_a_path_is_taken_as_it_is_written(  # M3, T6
    site: Site, healthy: Caller, witness: Witness, path: str
) -> None:
    answer = read(site, healthy, f"/v1/models/{path}")

    is_a_name = bool(path) and "%0a" not in path
    assert_refused(answer, 404, "model_not_found" if is_a_name else "not_found")
    assert "x-a" not in answer.headers


def test_a_name_longer_than_a_line_may_be_is_not_read(
    site: Site, healthy: Caller, witness: Witness
) -> None:
    assert_refused(read(site, healthy, "/v1/models/" + "a" * 10_240), 414, "uri_too_long")


LIMITS = (
    *("-1", "0", "1e9", "abc", "1001", "10000", "1.0", "+1", "%201", "1%00", "0x1", "", "%D9%A1"),
    *("1&limit=2", "1&limit=1"),
)


@pytest.mark.parametrize("limit", LIMITS)
def test_a_limit_is_a_number_of_models(  # M4
    site: Site, healthy: Caller, witness: Witness, limit: str
) -> None:
    answer = read(site, healthy, f"/v1/models?limit={limit}")

    assert_refused(answer, 400, "invalid_request")
    assert answer.error["param"] == "limit"


CURSORS = ("", "none", "fake-model", "eyJpZCI6MX0=", "%00", "%ff", "' OR 1=1", "free-model&after=a")


@pytest.mark.parametrize("cursor", CURSORS)
def test_a_cursor_is_a_model_of_the_list(  # M5
    site: Site, limited: Caller, witness: Witness, cursor: str
) -> None:
    answer = read(site, limited, f"/v1/models?after={cursor.replace(' ', '%20')}")

    assert_refused(answer, 400, "invalid_request")
    assert answer.error["param"] == "after"


def test_pages_come_to_the_whole_list(site: Site, healthy: Caller, witness: Witness) -> None:
    found: list[str] = []
    more, cursor = True, ""

    while more:
        answer = read(site, healthy, f"/v1/models?limit=2{cursor}")
        assert 1 <= len(names(answer)) <= 2
        found += names(answer)
        more, cursor = answer.json["has_more"], f"&after={found[-1]}"

    assert found == site.gateway.offered()
    assert "has_more" not in read(site, healthy, "/v1/models").json
    assert names(read(site, healthy, f"/v1/models?after={found[0]}")) == found[1:]


READ = ("models", "models/fake-model", "usage", "health", "status", "openapi.json")


@pytest.mark.parametrize("path", READ)
def test_a_head_is_an_answer_without_its_body(  # M6
    site: Site, healthy: Caller, witness: Witness, path: str
) -> None:
    got = read(site, healthy, f"/v1/{path}")
    asked = healthy.ask(method="HEAD", path=f"/v1/{path}", raw=b"")

    assert (got.status, asked.status, asked.body) == (200, 200, b"")
    assert asked.headers["content-type"] == got.headers["content-type"]


@pytest.mark.parametrize("path", [*READ, "generation?id=x"])
@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_what_is_read_is_not_written(  # H27
    site: Site, healthy: Caller, witness: Witness, path: str, method: str
) -> None:
    raw = request(line=f"{method} /v1/{path} HTTP/1.1", body=b"{}")

    answer = talk(site.gateway.port, with_key(raw, healthy.secret), answers=1).answer

    assert_refused(answer, 405, "method_not_allowed")
    assert "GET" in answer.headers["allow"]


FAR = ("0001-01-01", "9999-12-31", "0001-01-01T00:00:00%2B14:00", "1999-12-31", "3000-01-01")
NO_DATES = ("x", "2026-13-01", "2026-02-30", "-1", "0", "1e9", "%00", "2026-01-01T25:00", *FAR)


@pytest.mark.parametrize("date", NO_DATES)
@pytest.mark.parametrize("query", ["start={0}", "end={0}", "start={0}&end={0}"])
def test_a_report_is_of_days_that_are_some(
    site: Site, healthy: Caller, witness: Witness, query: str, date: str
) -> None:
    answer = read(site, healthy, f"/v1/usage?{query.format(date)}")

    assert_refused(answer, 400, "invalid_request")
    assert answer.error["param"] in ("start", "end")


@pytest.mark.parametrize("by", ["x", "model,x", "%00", "model;key", "workspace_id"])
def test_a_report_is_grouped_by_what_there_is(
    site: Site, healthy: Caller, witness: Witness, by: str
) -> None:
    assert_refused(read(site, healthy, f"/v1/usage?group_by={by}"), 400, "invalid_request")


IDS = (
    *("x", "%00", "0", "a" * 7_000, "%ff", "gen-", "chatcmpl-x", "' OR 1=1 --", "%F0%9F%98%80"),
    *("00000000-0000-0000-0000-000000000000", "ffffffff-ffff-7fff-bfff-ffffffffffff", "*", "{}"),
)


@pytest.mark.parametrize("found", IDS, ids=lambda found: found[:20])
def test_an_id_of_no_call_finds_none(
    site: Site, healthy: Caller, witness: Witness, found: str
) -> None:
    answer = read(site, healthy, f"/v1/generation?id={found.replace(' ', '%20')}")

    assert_refused(answer, 404, "not_found")


def test_a_call_of_another_workspace_is_as_absent_as_one_that_never_was(
    site: Site, healthy: Caller, limited: Caller, witness: Witness
) -> None:
    witness.expected_calls = 1
    theirs = healthy.ask().call_id
    never = theirs[:-4] + "0000"
    told = []

    for call_id in (theirs, never):
        answer = read(site, limited, f"/v1/generation?id={call_id}")
        assert_refused(answer, 404, "not_found")
        said = json.dumps(answer.error | {"request_id": ""})
        told.append(said.replace(call_id, "…"))

    assert told[0] == told[1]
