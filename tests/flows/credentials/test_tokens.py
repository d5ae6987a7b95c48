"""Credentials that tokens are made of: asked for once, ahead, and again when they end early."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.accounts.issuers import service_account
from tests.fakes.accounts.server import RunningAccounts
from tests.flows.credentials.conftest import MakeCaller
from tests.flows.site import Site
from tests.support.waiting import wait_until

ROLE = "arn:aws:iam::123456789012:role/gateway"
MakeText = Callable[[RunningAccounts], str]


def google(accounts: RunningAccounts) -> str:
    return json.dumps(service_account(f"{accounts.origin}/google/token"), indent=2)


def google_user(accounts: RunningAccounts) -> str:
    user = {"type": "authorized_user", "client_id": "c.apps", "client_secret": "c-secret"}
    token = {"refresh_token": "1//refresh-me", "token_uri": f"{accounts.origin}/google/token"}
    return json.dumps(user | token)


def aws(accounts: RunningAccounts) -> str:
    keys = {"access_key_id": "AKIDEXAMPLE12345", "secret_access_key": "aws-secret-value"}
    role = {"role_arn": ROLE, "external_id": "ours", "sts_endpoint": f"{accounts.origin}/sts"}
    return json.dumps(keys | role)


def entra(accounts: RunningAccounts, secret: str = "entra-secret-value") -> str:
    app = {"tenant_id": "contoso.example", "client_id": "app-id", "client_secret": secret}
    return json.dumps(app | {"authority": accounts.origin})


ISSUERS: list[tuple[str, MakeText, str]] = [
    ("with_google", google, "google"),
    ("with_google", google_user, "google"),
    ("with_aws", aws, "sts"),
    ("with_entra", entra, "entra"),
]
NAMES = ["service account", "authorized user", "role", "application"]
SECRETS = ("PRIVATE KEY", "aws-secret-value", "entra-secret-value", "1//refresh-me", "c-secret")


def token_in(text: str) -> str:
    """Return the token of what a provider was shown: of AWS it is one of three keys."""
    return str(json.loads(text)["access_key_id"]) if text.startswith("{") else text


@pytest.mark.parametrize(("kind", "text", "issuer"), ISSUERS, ids=NAMES)
def test_calls_show_a_token_that_was_asked_for_once(
    accounts: RunningAccounts, make_caller: MakeCaller, kind: str, text: MakeText, issuer: str
) -> None:
    accounts.token_delay_s = 0.3
    _, caller = make_caller(text(accounts), kind=kind)

    with ThreadPoolExecutor(8) as threads:
        texts = list(threads.map(lambda n: caller.ask(stream=bool(n % 2)).text, range(8)))

    assert {token_in(each) for each in texts} == {f"{issuer}-token-0001"}
    assert accounts.tokens_of(issuer) == [f"{issuer}-token-0001"]


def test_what_issuers_are_asked_is_what_they_document(
    accounts: RunningAccounts, make_caller: MakeCaller
) -> None:
    for kind, text, _ in ISSUERS:
        make_caller(text(accounts), kind=kind)
    wait_until(lambda: len(accounts.issued) == len(ISSUERS), what="all tokens to be asked for")

    asked = {path: (form, headers) for path, form, headers in accounts.asked}
    role, headers = asked["/sts/"]
    app, _ = asked["/contoso.example/oauth2/v2.0/token"]
    assert role == {
        "Action": "AssumeRole",
        "Version": "2011-06-15",
        "RoleArn": ROLE,
        "RoleSessionName": "tollhouse",
        "DurationSeconds": "3600",
        "ExternalId": "ours",
    }
    assert "/eu-west-1/sts/aws4_request" in headers["authorization"]
    assert app["grant_type"] == "client_credentials"
    assert app["scope"] == "https://cognitiveservices.azure.com/.default"


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("with_aws", "bedrock-api-key-0123456789"),
        ("with_entra", "0123456789abcdef0123456789abcdef"),
        ("with_google", "ya29.of-somebody-else"),
        ("with_aws", '{"access_key_id":"AKIDEXAMPLE12345","secret_access_key":"s3"}'),
    ],
)
def test_keys_are_sent_as_they_are(
    accounts: RunningAccounts, make_caller: MakeCaller, kind: str, text: str
) -> None:
    _, caller = make_caller(text, kind=kind)

    assert caller.ask().text == text
    assert not accounts.asked


@pytest.mark.parametrize("is_streamed", [False, True])
def test_a_token_that_ends_early_is_replaced_and_the_call_is_served(
    keyed_site: Site, accounts: RunningAccounts, make_caller: MakeCaller, is_streamed: bool
) -> None:
    _, caller = make_caller(entra(accounts), kind="with_entra")
    first = caller.ask().text
    accounts.refusals[first] = (401, {})

    with ThreadPoolExecutor(4) as threads:
        answers = list(threads.map(lambda _: caller.ask(stream=is_streamed), range(4)))

    assert {answer.text for answer in answers} == {"entra-token-0002"}
    assert accounts.tokens_of("entra") == [first, "entra-token-0002"]
    assert [each["code"] for each in keyed_site.record(answers[0].call_id)["attempts"]] == [""]


def test_a_provider_that_refuses_every_token_does_not_have_one_asked_for_each_call(
    accounts: RunningAccounts, make_caller: MakeCaller
) -> None:
    _, caller = make_caller(entra(accounts), kind="with_entra")
    accounts.refusals = {f"entra-token-{n:04}": (401, {}) for n in range(1, 20)}

    codes = {caller.ask().error["code"] for _ in range(10)}

    assert codes == {"provider_auth"}
    assert len(accounts.issued) <= 4


@pytest.mark.parametrize(
    ("refusal", "said"),
    [
        ((401, b'{"error":"invalid_grant","error_description":"hush"}'), "401 (invalid_grant)"),
        ((500, b"<html>oops</html>"), "answered 500"),
        ((200, b"not json"), "sent no token"),
        ((200, b'{"access_token":"","expires_in":3600}'), "sent no token"),
        ((200, b'{"access_token":"a b","expires_in":3600}'), "sent no token"),
        ((200, b'{"access_token":"x","expires_in":"soon"}'), "sent no token"),
        ((200, b'{"access_token":"x","expires_in":-5}'), "token that has expired"),
        ((200, b"x" * 300_000), "too long an answer"),
        ((302, b""), "answered 302"),
    ],
    ids=lambda value: "" if isinstance(value, tuple) else str(value),
)
def test_an_issuer_that_gives_no_token_is_told_of_without_secrets(
    keyed_site: Site,
    accounts: RunningAccounts,
    make_caller: MakeCaller,
    refusal: tuple[int, bytes],
    said: str,
) -> None:
    accounts.token_refusal = refusal
    name, caller = make_caller(entra(accounts), kind="with_entra")

    answer = caller.ask()

    assert (answer.status, answer.error["code"]) == (502, "provider_auth")
    assert said in answer.error["message"]
    assert accounts.origin.partition("//")[2] not in answer.body.decode()
    assert not accounts.shown

    def state() -> str:
        shown: dict[str, Any] = keyed_site.office.do("credential_states", provider=name)["c1"]
        return str(shown["failure_message"])

    assert said in wait_until(state, what="the failure to be shown")
    log = keyed_site.gateway.log.read_text()
    assert not any(secret in log for secret in SECRETS)

    accounts.token_refusal = None
    wait_until(lambda: caller.ask().status == 200, what="a token")


@pytest.mark.parametrize(("kind", "text", "issuer"), ISSUERS, ids=NAMES)
@pytest.mark.parametrize("refusal", [(403, b"<Error>no</Error>"), (200, b"<html>")])
def test_every_issuer_may_fail(
    accounts: RunningAccounts,
    make_caller: MakeCaller,
    refusal: tuple[int, bytes],
    kind: str,
    text: MakeText,
    issuer: str,
) -> None:
    accounts.token_refusal = refusal
    _, caller = make_caller(text(accounts), kind=kind)

    answer = caller.ask()

    assert (answer.status, answer.error["code"]) == (502, "provider_auth")
    assert "The gateway has no access token for the provider" in answer.error["message"]


def test_an_issuer_that_is_away_is_told_of_and_others_serve(
    keyed_site: Site, accounts: RunningAccounts, make_caller: MakeCaller
) -> None:
    away = json.loads(entra(accounts)) | {"authority": "http://127.0.0.1:1"}
    name, caller = make_caller(json.dumps(away), kind="with_entra")
    assert "cannot be reached" in caller.ask().error["message"]

    order = {"provider": name, "name": "key", "credential": "sk-an-api-key-0123"}
    keyed_site.office.do("add_credential", **order)

    wait_until(lambda: caller.ask().status == 200, what="the key to serve")
    assert {caller.ask().status for _ in range(5)} == {200}


@pytest.mark.parametrize(
    ("kind", "text", "said"),
    [
        ("with_google", '{"type":"external_account"}', "service_account or authorized_user"),
        ("with_google", '{"type":"service_account"}', "It lacks client_email, private_key"),
        ("with_google", '{"client_email":"x"}', "missing required field"),
        ("with_google", "{broken", "not a JSON object"),
        ("with_aws", '{"access_key_id":"AKID"}', "secret_access_key"),
        (
            "with_aws",
            '{"access_key_id":"A","secret_access_key":"s","role_arn":"x"}',
            "role_arn is not the ARN",
        ),
        ("with_aws", '{"access_key_id":"A","secret_access_key":"s","rgion":"x"}', "unknown field"),
        (
            "with_entra",
            '{"tenant_id":"a/b","client_id":"c","client_secret":"s"}',
            "tenant_id is the ID",
        ),
        ("with_entra", '{"tenant_id":"a","client_id":"","client_secret":"s"}', "lacks client_id"),
        ("openai", "env::not a name", "After env:: comes a name"),
        ("openai", "dynamic::", "After dynamic:: comes a name"),
    ],
)
def test_what_is_no_credential_is_refused_with_the_reason(
    keyed_site: Site, make_caller: MakeCaller, kind: str, text: str, said: str
) -> None:
    with pytest.raises(AssertionError, match="ValidationError") as refusal:
        keyed_site.office.do(
            "provider",
            name=f"bad-{kind}",
            kind=kind,
            base_url="http://127.0.0.1:1",
            credential=text,
        )

    assert said in str(refusal.value)


def test_the_server_reads_the_file_that_a_variable_names(
    keyed_site: Site, accounts: RunningAccounts, make_caller: MakeCaller
) -> None:
    file = Path(keyed_site.gateway.env["GOOGLE_APPLICATION_CREDENTIALS"])
    file.write_text(google(accounts))

    _, caller = make_caller("env::GOOGLE_APPLICATION_CREDENTIALS", kind="with_google")

    assert caller.ask().text == "google-token-0001"


@pytest.mark.parametrize(
    ("variable", "keys"),
    [
        ("AWS_ACCESS_KEY_ID", {"access_key_id": "AKIDENVIRONMENT1"}),
        (
            "TEMPORARY_ACCESS_KEY_ID",
            {"access_key_id": "ASIDENVIRONMENT2", "session_token": "aws-session-value"},
        ),
    ],
)
def test_access_keys_are_read_from_the_variables_beside_the_id(
    make_caller: MakeCaller, variable: str, keys: dict[str, str]
) -> None:
    _, caller = make_caller(f"env::{variable}", kind="with_aws")

    assert json.loads(caller.ask().text) == keys | {"secret_access_key": "aws-secret-value"}
