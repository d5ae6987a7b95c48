"""Errors answered before any application runs have the format of the caller's profile, too."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.core.profiles import ALL, BY_NAME
from tests.corpus.oracle import Witness
from tests.corpus.wire import request, talk, with_key
from tests.flows.caller import Answer, Caller
from tests.flows.site import Site

OTHERS = [profile.name for profile in ALL if not profile.is_ours]
CHAT = "chat/completions"


def shape_of(answer: Answer) -> dict[str, Any]:
    """Return the names and types in an error, and whose words it says they are."""
    body = answer.json
    shape = {name: type(value) for name, value in body.items()}
    shape |= {f"error.{name}": type(value) for name, value in body["error"].items()}
    return shape | {"profile": answer.headers.get("x-compat-profile", "unified")}


@pytest.mark.parametrize("name", OTHERS)
def test_a_refusal_of_the_edge_has_the_shape_of_any_other(
    site: Site, abused: Caller, witness: Witness, name: str
) -> None:
    def ask(*headers: str, path: str, body: bytes = b"{") -> Answer:
        raw = request(*headers, line=f"POST {path} HTTP/1.1", body=body)
        return talk(site.gateway.port, with_key(raw, abused.secret), answers=1).answer

    mounted, named = f"/compat/{name}/v1/{CHAT}", f"X-Compat-Profile: {name}"
    expected = shape_of(ask(path=mounted))
    refused = [
        ask("Expect: other", path=mounted),
        ask("Expect: other", named, path=f"/api/v1/{CHAT}?a=b"),
        ask("X-A: " + "a" * 9_000, path=mounted),
        ask(named, path=f"/v1/{CHAT}?a=%"),
    ]

    assert [answer.status for answer in refused] == [
        400 if name == "hyperinfer" else status for status in (417, 417, 431, 400)
    ]
    assert [shape_of(answer)["profile"] for answer in refused] == [name] * 4
    for answer in refused:
        assert shape_of(answer).keys() >= expected.keys() - {"error.details"}
        assert shape_of(answer)["error.code"] is expected["error.code"]


@pytest.mark.parametrize("path", ["/sign-in", "/compat/none/v1/models", "/v1none"])
def test_where_no_client_is_known_it_is_ours(site: Site, witness: Witness, path: str) -> None:
    raw = request("Expect: other", line=f"POST {path} HTTP/1.1")

    answer = talk(site.gateway.port, raw).answer

    assert (answer.status, answer.error["code"]) == (417, "expectation_failed")
    assert "x-compat-profile" not in answer.headers


def test_errors_of_reads_stay_ours_where_a_client_knows_them_so(
    site: Site, witness: Witness
) -> None:
    [name] = [name for name in OTHERS if BY_NAME[name].formats_only_call_errors]
    raw = request("Expect: other", line=f"GET /compat/{name}/v1/models HTTP/1.1", body=b"")

    answer = talk(site.gateway.port, raw).answer

    assert (answer.status, answer.error["code"]) == (417, "expectation_failed")
