"""May this caller do this? Every refusal, as a caller sees it and as it is written down."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from tests.flows.caller import CHAT, Answer, Caller
from tests.flows.site import NUSD_PER_USD, Site


def assert_refused(answer: Answer, status: int, code: str, param: str | None = None) -> None:
    """Assert that the whole wording of a refusal is right."""
    assert (answer.status, answer.error["code"], answer.error["param"]) == (status, code, param)
    assert answer.headers["content-type"] == "application/json"
    assert answer.error["request_id"] == answer.headers["x-request-id"]
    assert answer.error["message"]
    assert answer.error["type"]
    assert answer.headers.get("www-authenticate") == ("Bearer" if status == 401 else None)
    assert ("retry-after" in answer.headers) == (status in (429, 503, 529))


def assert_written_down(site: Site, caller: Caller, answer: Answer) -> None:
    """Assert that a refused call of a known key has its one record, and did nothing else."""
    [record] = site.records(caller)
    assert str(record["status"]) == "refused"
    assert (record["http_status"], record["error_code"]) == (answer.status, answer.error["code"])
    assert (record["hold_nusd"], record["charge_nusd"]) == (0, 0)
    assert site.tries(answer.call_id) == []


def in_headers(**headers: str) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in headers.items()}


NO_KEY: dict[str, dict[str, str]] = {
    "none": in_headers(authorization=""),
    "unknown": in_headers(authorization="Bearer sk-gw-nobody"),
    "only the scheme": in_headers(authorization="Bearer"),
    "another scheme": in_headers(authorization="Basic c2VjcmV0"),
    "two words": in_headers(authorization="Bearer a b"),
    "very long": in_headers(authorization="Bearer " + "k" * 4000),
    "not ASCII": in_headers(authorization="Bearer schlüssel"),
    "empty x-api-key": in_headers(authorization="", x_api_key=" "),
}


@pytest.mark.parametrize("headers", NO_KEY.values(), ids=NO_KEY)
def test_who_shows_no_good_key_is_not_let_in(site: Site, headers: dict[str, str]) -> None:
    nobody = Caller(site.gateway.port, "", "", "")

    answer = nobody.ask(headers=headers)

    assert_refused(answer, 401, "invalid_api_key")
    assert site.tries(answer.call_id) == []


@pytest.mark.parametrize(
    "spell",
    [
        lambda key: in_headers(authorization=f"bEARER {key}"),
        lambda key: in_headers(authorization=f"Bearer   {key} "),
        lambda key: in_headers(authorization=key),
        lambda key: in_headers(authorization="", x_api_key=key),
        lambda key: in_headers(authorization=f"Bearer {key}", x_api_key=key),
    ],
    ids=["scheme in any case", "spaces", "bare", "x-api-key", "twice the same"],
)
def test_a_key_may_be_shown_in_several_ways(caller: Caller, spell: Any) -> None:
    answer = caller.ask(headers=spell(caller.secret))

    assert answer.status == 200


def test_two_different_keys_are_one_too_many(site: Site, caller: Caller) -> None:
    other = site.another_key(caller.workspace_id)

    answer = caller.ask(headers=in_headers(x_api_key=other.secret))

    assert_refused(answer, 401, "invalid_api_key")
    assert site.tries(answer.call_id) == []


def test_a_revoked_key_is_refused(site: Site, caller: Caller) -> None:
    site.office.do("revoke", key_id=caller.key_id)

    answer = caller.ask()

    assert_refused(answer, 401, "invalid_api_key")
    assert_written_down(site, caller, answer)


def test_an_expired_key_is_refused(site: Site, caller: Caller) -> None:
    site.office.do("expire", key_id=caller.key_id)

    answer = caller.ask()

    assert_refused(answer, 401, "invalid_api_key")
    assert_written_down(site, caller, answer)


@pytest.mark.parametrize(
    ("networks", "status"),
    [
        (["127.0.0.1"], 200),
        (["10.0.0.0/8", "127.0.0.0/8"], 200),
        (["::ffff:127.0.0.1"], 200),
        (["10.0.0.0/8"], 403),
        (["::1"], 403),
        ([], 403),
    ],
)
def test_a_key_is_good_only_where_its_rules_say(
    site: Site, networks: list[str], status: int
) -> None:
    caller = site.caller(allowed_ips=networks)

    answer = caller.ask()

    assert answer.status == status
    if status == 403:
        assert_refused(answer, 403, "ip_not_allowed")
        assert_written_down(site, caller, answer)


@pytest.mark.parametrize("name", ["x-forwarded-for", "x-real-ip", "forwarded", "cf-connecting-ip"])
def test_a_caller_cannot_say_where_it_is(site: Site, name: str) -> None:
    caller = site.caller(allowed_ips=["203.0.113.7"])

    answer = caller.ask(headers={name: "203.0.113.7"})

    assert_refused(answer, 403, "ip_not_allowed")
    assert_written_down(site, caller, answer)


def test_a_key_without_the_scope_is_refused(site: Site) -> None:
    caller = site.caller(scopes=["usage"])

    answer = caller.ask()

    assert_refused(answer, 403, "insufficient_scope")
    assert answer.error["details"] == {"required_scope": "completions"}
    assert_written_down(site, caller, answer)


def test_a_model_hidden_from_the_key_is_refused(site: Site) -> None:
    caller = site.caller(allowed_models=["small-model"])

    answer = caller.ask()

    assert_refused(answer, 403, "model_not_allowed", "model")
    assert_written_down(site, caller, answer)
    assert caller.with_(model="small-model").ask().status == 200


def test_a_model_nobody_knows_is_not_found(site: Site, caller: Caller) -> None:
    answer = caller.with_(model="gpt-999").ask()

    assert_refused(answer, 404, "model_not_found", "model")
    assert_written_down(site, caller, answer)


def test_a_locked_workspace_is_refused(site: Site, caller: Caller) -> None:
    site.office.do("lock", workspace_id=caller.workspace_id)

    answer = caller.ask()

    assert_refused(answer, 403, "workspace_locked")
    assert_written_down(site, caller, answer)


@pytest.mark.parametrize("credit_nusd", [0, 1_000])
def test_a_balance_too_small_for_one_token_is_refused(site: Site, credit_nusd: int) -> None:
    caller = site.caller(credit_nusd=credit_nusd)

    answer = caller.ask()

    assert_refused(answer, 402, "insufficient_credits")
    assert_written_down(site, caller, answer)
    assert site.balance_nusd(caller) == credit_nusd


def test_a_refused_call_holds_nothing(site: Site) -> None:
    caller = site.caller(credit_nusd=NUSD_PER_USD // 100)

    refused = [caller.with_(model="nothing").ask(), caller.ask(temperature=9)]

    assert [answer.status for answer in refused] == [404, 400]
    site.assert_free(caller, NUSD_PER_USD // 100)


MEGABYTE = 1024 * 1024


def test_a_body_declared_too_large_is_refused_unread(site: Site, caller: Caller) -> None:
    answer = caller.ask(raw=b"{}", headers=in_headers(content_length=str(MEGABYTE + 1)))

    assert_refused(answer, 413, "payload_too_large")
    assert_written_down(site, caller, answer)


def test_a_body_that_turns_out_too_large_is_refused(site: Site, caller: Caller) -> None:
    pieces = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"

    answer = caller.ask(
        raw=pieces * 17 + b"0\r\n\r\n", headers=in_headers(transfer_encoding="chunked")
    )

    assert_refused(answer, 413, "payload_too_large")
    assert_written_down(site, caller, answer)


def test_a_body_of_the_largest_size_is_read(caller: Caller) -> None:
    body = b'{"model":"free-model","messages":[{"role":"user","content":"hi"}]}'

    answer = caller.ask(raw=body.ljust(MEGABYTE))

    assert answer.status == 200


@pytest.mark.parametrize(
    ("headers", "param"),
    [
        (in_headers(content_type="text/plain"), "Content-Type"),
        (in_headers(content_type="application/x-www-form-urlencoded"), "Content-Type"),
        (in_headers(content_type="multipart/form-data; boundary=x"), "Content-Type"),
        (in_headers(content_encoding="gzip"), "Content-Encoding"),
    ],
)
def test_a_body_that_is_not_declared_as_json_is_refused(
    site: Site, caller: Caller, headers: dict[str, str], param: str
) -> None:
    answer = caller.ask(headers=headers)

    assert_refused(answer, 400, "invalid_request", param)
    assert_written_down(site, caller, answer)


@dataclass(frozen=True)
class Address:
    method: str
    path: str
    status: int
    code: str
    allow: str | None = None


ADDRESSES = [
    Address(method, f"{mount}{path}", status, code, allow)
    for mount in ("/v1", "/api/v1", "/openai/v1")
    for method, path, status, code, allow in (
        ("GET", "", 404, "not_found", None),
        ("GET", "/", 404, "not_found", None),
        ("POST", "/nothing", 404, "not_found", None),
        ("POST", "/chat/completions/", 404, "not_found", None),
        ("POST", "/chat/completions/more", 404, "not_found", None),
        ("DELETE", "/%00", 404, "not_found", None),
        ("GET", "/chat/completions", 405, "method_not_allowed", "POST"),
        ("PUT", "/chat/completions", 405, "method_not_allowed", "POST"),
        ("POST", "/models", 405, "method_not_allowed", "GET, HEAD, OPTIONS"),
        ("DELETE", "/generation", 405, "method_not_allowed", "GET, HEAD, OPTIONS"),
    )
]


@pytest.mark.parametrize("address", ADDRESSES, ids=lambda a: f"{a.method} {a.path}")
def test_what_is_not_there_is_not_found_in_json(caller: Caller, address: Address) -> None:
    answer = caller.ask(path=address.path, method=address.method)

    assert_refused(answer, address.status, address.code)
    assert answer.headers.get("allow") == address.allow


@pytest.mark.parametrize("path", [CHAT, "/openai/v1/chat/completions"])
def test_both_mounts_are_the_same_endpoint(caller: Caller, path: str) -> None:
    assert caller.ask(path=path).status == 200
    assert caller.ask(path=path, headers={"authorization": ""}).status == 401


def test_a_refusal_is_seen_by_the_key_that_got_it(site: Site, caller: Caller) -> None:
    answer = caller.with_(model="gpt-999").ask(headers={"x-request-id": "mine-7"})

    site.record(answer.call_id)
    path = f"/v1/generation?id={answer.call_id}"
    found = caller.ask(path=path, method="GET")

    assert found.json["data"]["state"] == "refused"
    assert found.json["data"]["client_request_id"] == "mine-7"
    assert site.caller().ask(path=path, method="GET").status == 404
