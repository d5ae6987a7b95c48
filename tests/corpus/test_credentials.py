"""Group A: who are you? Rows of what is sent instead of a key, or beside it.

Not here, because there is nothing of the kind yet: the Files API (A27), rotation with a grace
period (A28). Keys that end with a membership (A23) are in
tests/dashboard/join/test_join_browser.py; a database that is away (A30) is taken away where money
is tested. Codes are the catalogue's: all that is wrong with a key is `invalid_api_key`.
"""

from __future__ import annotations

import base64
import json

import pytest

from tests.corpus.conftest import WRONG_KEYS
from tests.corpus.oracle import Witness, assert_refused
from tests.corpus.wire import Line, request, talk, with_key
from tests.flows.caller import Caller
from tests.flows.site import Site

CHAT = "/v1/chat/completions"
NOBODY = "sk-gw-nobody"


def in_base64(words: dict[str, str]) -> str:
    return base64.urlsafe_b64encode(json.dumps(words).encode()).decode().rstrip("=")


UNSIGNED = f"{in_base64({'alg': 'none'})}.{in_base64({'sub': 'admin'})}."
SIGNED = f"{in_base64({'alg': 'HS256'})}.{in_base64({'sub': 'admin'})}.c2lnbmF0dXJl"

# What stands where the key should. @KEY@ is a good one; none of these shows it properly.
INSTEAD = {
    "A1 nothing": [],
    "A2 empty": ["Authorization:"],
    "A3 no token": ["Authorization: Bearer"],
    "A3 spaces": ["Authorization: Bearer     "],
    "A4 Basic": ["Authorization: Basic @KEY@"],
    "A4 Digest": ["Authorization: Digest @KEY@"],
    "A4 Token": ["Authorization: Token @KEY@"],
    "A4 no space": ["Authorization: Bearer@KEY@"],
    "A5 two": ["Authorization: Bearer @KEY@", f"Authorization: Bearer {NOBODY}"],
    "A5 the other way round": [
        f"Authorization: Bearer {NOBODY}",
        "Authorization: Bearer @KEY@",
    ],
    "A5 twice the same": ["Authorization: Bearer @KEY@", "Authorization: Bearer @KEY@"],
    "A5 two schemes": ["Authorization: Basic YTpi", "Authorization: Bearer @KEY@"],
    "A6 joined": [f"Authorization: Bearer @KEY@,Bearer {NOBODY}"],
    "A6 joined, the same": ["Authorization: Bearer @KEY@, Bearer @KEY@"],
    "A9 another in x-api-key": ["Authorization: Bearer @KEY@", f"X-Api-Key: {NOBODY}"],
    "A9 another in Authorization": [f"Authorization: Bearer {NOBODY}", "X-Api-Key: @KEY@"],
    "A9 two x-api-keys": ["X-Api-Key: @KEY@", f"X-Api-Key: {NOBODY}"],
    "A9 an empty one": ["Authorization: Bearer @KEY@", "X-Api-Key:"],
    "A11 a cookie": ["Cookie: api_key=@KEY@; tollhouse_session=@KEY@"],
    "A13 one more": ["Authorization: Bearer @KEY@x"],
    "A13 quoted": ['Authorization: Bearer "@KEY@"'],
    "A15 full width": ["Authorization: Bearer ｓｋ-gw-nobody"],  # noqa: RUF001
    "A16 8 KB": ["Authorization: Bearer " + "k" * 8_000],
    "A18 a template": ["Authorization: Bearer {{7*7}}"],
    "A18 a lookup": ["Authorization: Bearer ${jndi:ldap://127.0.0.1/x}"],
    "A18 a path": ["Authorization: Bearer ../../etc/passwd"],
    "A18 a script": ["Authorization: Bearer <script>alert(1)</script>"],
    "A18 a query": ["Authorization: Bearer ' OR 1=1 --"],
    "A18 formats": ["Authorization: Bearer %s%s%n{0}{key}"],
    "A19 Latin-1": [b"Authorization: Bearer \xe9\xff"],
    "A19 invalid UTF-8": [b"Authorization: Bearer \xc3\x28\xa0\xa1"],
    "A20 unsigned": [f"Authorization: Bearer {UNSIGNED}"],
    "A20 signed by anybody": [f"Authorization: Bearer {SIGNED}"],
    "A24 the operator's password": ["Authorization: Bearer @PASSWORD@"],
    "A24 a session": ["Authorization: Bearer 7b2h3k9d8s7f6g5h4j3k2l1q0w9e8r7t"],
    "A32 somebody's word": ["X-User: operator", "X-Role: operator", "X-Forwarded-User: operator"],
}


@pytest.mark.parametrize("headers", INSTEAD.values(), ids=INSTEAD)
def test_what_is_no_good_key_lets_nobody_in(
    site: Site, abused: Caller, witness: Witness, headers: list[str | bytes]
) -> None:
    encoded = [h if isinstance(h, bytes) else h.encode() for h in headers]
    raw = request(*encoded, key=None).replace(b"@PASSWORD@", site.gateway.password.encode())

    answer = talk(site.gateway.port, with_key(raw, abused.secret), answers=1).answer

    assert_refused(answer, 401, "invalid_api_key")
    assert answer.headers["www-authenticate"] == "Bearer"
    log = site.gateway.log.read_text()
    assert abused.secret not in log
    assert site.gateway.password not in log


def test_a_key_with_a_nul_is_no_header(site: Site, witness: Witness) -> None:  # A19
    answer = talk(site.gateway.port, request("Authorization: Bearer a\0b", key=None)).answer

    assert_refused(answer, 400, "invalid_request")


@pytest.mark.parametrize("name", ["api_key", "key", "access_token", "token", "apikey"])
def test_a_key_in_the_query_is_not_read_and_not_written_down(  # A7
    site: Site, abused: Caller, witness: Witness, name: str
) -> None:
    raw = request(line=f"POST {CHAT}?{name}=@KEY@ HTTP/1.1", key=None)

    answer = talk(site.gateway.port, with_key(raw, abused.secret), answers=1).answer

    assert_refused(answer, 401, "invalid_api_key")
    assert abused.secret not in site.gateway.log.read_text()


def test_a_key_in_the_body_is_not_read(  # A8
    site: Site, abused: Caller, witness: Witness
) -> None:
    raw = request(
        key=None, body=b'{"api_key":"@KEY@","model":"fake-model","messages":[]}', sized=False
    )

    answer = talk(site.gateway.port, with_key(raw, abused.secret), answers=1).answer

    assert_refused(answer, 401, "invalid_api_key")


def test_a_key_that_is_almost_right_is_wrong(  # A12, A13
    site: Site, abused: Caller, witness: Witness
) -> None:
    secret = abused.secret
    near = {secret[:-1], secret + "A", secret[:9], secret.upper(), secret.lower(), secret[::-1]}
    near |= {f"{secret[:n]}{chr(ord(secret[n]) ^ 1)}{secret[n + 1 :]}" for n in range(len(secret))}
    near |= {f"{secret[:n]}{secret[n].swapcase()}{secret[n + 1 :]}" for n in range(len(secret))}

    for guess in sorted(near - {secret}):
        answer = talk(site.gateway.port, request(key=guess), answers=1).answer
        assert_refused(answer, 401, "invalid_api_key")


TABS = ["Bearer\t@KEY@", "Bearer \t@KEY@", "Bearer\t @KEY@", "Bearer @KEY@\tx", "\tBearer\t@KEY@"]


@pytest.mark.parametrize("value", TABS)
def test_a_tab_beside_a_good_key_is_told_as_a_tab(
    site: Site, abused: Caller, witness: Witness, value: str
) -> None:
    raw = with_key(request(f"Authorization: {value}", key=None), abused.secret)

    answer = talk(site.gateway.port, raw, answers=1).answer

    assert_refused(answer, 401, "invalid_api_key")
    assert "tab" in answer.error["message"]


ACCEPTED = {
    "blanks around the value": ["Authorization: \t Bearer @KEY@ \t "],
    "more than one space": ["Authorization: Bearer   @KEY@"],
    "blanks around x-api-key": ["X-Api-Key: \t@KEY@ \t"],
    "A4 small letters": ["authorization: bearer @KEY@"],
    "A4 capitals": ["AUTHORIZATION: BEARER @KEY@"],
    "A10 both carriers": ["Authorization: Bearer @KEY@", "X-Api-Key: @KEY@"],
    "A31 another's organization": [
        *("Authorization: Bearer @KEY@", "OpenAI-Organization: org-other"),
        "OpenAI-Project: proj-other",
    ],
    "A32 impersonation": [
        *("Authorization: Bearer @KEY@", "X-User: operator", "X-Role: operator"),
        *("X-Workspace-Id: @OTHER@", "X-Forwarded-User: operator", "Remote-User: operator"),
    ],
}


@pytest.mark.parametrize("headers", ACCEPTED.values(), ids=ACCEPTED)
def test_a_good_key_is_good_for_its_own_workspace_alone(
    site: Site, abused: Caller, witness: Witness, headers: list[str]
) -> None:
    holder = site.caller()
    raw = with_key(request(*headers, key=None), holder.secret)
    witness.expected_calls = 1

    answered = talk(
        site.gateway.port, raw.replace(b"@OTHER@", abused.workspace_id.encode()), answers=1
    )

    assert answered.answer.status == 200
    [record] = site.records(holder)
    assert record["workspace_id"] == holder.workspace_id


def test_a_key_without_the_scope_is_refused(site: Site, witness: Witness) -> None:  # A26
    reader = site.caller(scopes=["usage"])

    answer = talk(site.gateway.port, with_key(request(), reader.secret), answers=1).answer

    assert_refused(answer, 403, "insufficient_scope")
    assert answer.error["details"] == {"required_scope": "completions"}


def test_a_flood_of_guesses_is_slowed_and_a_good_key_beside_it_is_served(  # A29
    site: Site, healthy: Caller, witness: Witness, source: str
) -> None:
    guess, good = request(key=NOBODY), with_key(request(), healthy.secret)
    witness.expected_calls = 2

    with Line(site.gateway.port, source) as line:
        line.send(guess * 20)
        answers = line.listen(answers=20).answers
        for number in range(WRONG_KEYS):
            line.send(request(key=f"{NOBODY}{number}"))
            answers += line.listen(answers=1).answers
        line.send(good)
        served = line.listen(answers=1).answer
        elsewhere = talk(site.gateway.port, guess, answers=1).answer

    assert [answer.status for answer in answers] == [401] * WRONG_KEYS + [429] * 20
    assert_refused(answers[-1], 429, "rate_limit_exceeded")
    assert 1 <= int(answers[-1].headers["retry-after"]) <= 10
    assert served.status == 200
    assert elsewhere.status == 401
    assert talk(site.gateway.port, good, source=source, answers=1).answer.status == 200


def test_who_shows_no_key_is_refused_and_has_guessed_nothing(
    site: Site, witness: Witness, source: str
) -> None:
    without = [request(key=None), request(line="GET /v1/models HTTP/1.1", key=None, body=b"")]
    health = request(line="GET /v1/health HTTP/1.1", key=None, body=b"")

    with Line(site.gateway.port, source) as line:
        seen: list[int] = []
        for _ in range(WRONG_KEYS):
            line.send(b"".join(without) + health)
            seen += [answer.status for answer in line.listen(answers=3).answers]
        line.send(request(key=NOBODY))
        guessed = line.listen(answers=1).answer

    assert seen == [401, 401, 200] * WRONG_KEYS
    assert_refused(guessed, 401, "invalid_api_key")


def test_an_address_that_does_not_exist_says_so_to_everybody(site: Site, witness: Witness) -> None:
    raw = request(line="POST /v1/nothing HTTP/1.1", key=NOBODY)

    assert_refused(talk(site.gateway.port, raw, answers=1).answer, 404, "not_found")
