"""What a test call says, over real sockets: one that is served, and each way in which it is not."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from accounts.models import AuditEvent, LedgerEntry
from gateway.core.provider_connection import ConnectionSettings
from gateway.models import CallRecord, Provider
from gateway.outbound.findings import Outcome
from gateway.providers.call_check import can_check
from gateway.services.provider_calls import make_test_call
from gateway.services.provider_credentials import add_credential
from gateway.snapshot.credential import CredentialRecord
from tests.factories import make_model, make_provider
from tests.fakes.accounts.issuers import service_account
from tests.fakes.accounts.server import running_accounts
from tests.flows.pairs.dialects import DIALECTS, Dialect
from tests.gateway.test_commands import ask, refusal_of
from tests.support.checked_calls import SECRET, check
from tests.support.mute_servers import closing_each, listening, self_signed
from tests.support.ports import free_port
from tests.support.proxy import running_proxy
from tests.support.servers import UpstreamServer

WHO = "boss@example.com"


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
def test_every_dialect_is_asked_for_one_token(upstream: UpstreamServer, dialect: Dialect) -> None:
    before = len(upstream.book())

    found = check(
        f"{upstream.origin}{dialect.path}",
        kind=dialect.kind,
        native_model=dialect.native_model,
        secret=dialect.credential,
        settings=dialect.settings,
    )

    assert found.outcome is Outcome.SERVED, found
    assert found.message.startswith(f"{dialect.native_model} answered after ")
    [call] = upstream.book()[before:]
    assert call["state"] == "done"
    # That of SageMaker begins with an endpoint.
    assert dialect.native_model.endswith(call["model"])
    assert call["completion_tokens"] <= 1


@pytest.mark.parametrize("operation", ["embeddings", "completions", "moderations", "rerank"])
def test_models_for_one_operation_are_asked_for_that(
    upstream: UpstreamServer, operation: str
) -> None:
    kind = "openai_compatible"

    found = check(f"{upstream.origin}/v1", kind=kind, operation=operation)

    assert found.outcome is Outcome.SERVED, found


def test_images_cost_too_much_for_a_test() -> None:
    assert not can_check("images", "openai")
    assert not can_check("rerank", "anthropic")


def test_what_does_not_answer_has_its_sentence(upstream: UpstreamServer, tmp_path: Path) -> None:
    nobody = free_port()
    proxied = ConnectionSettings(proxy_url=f"http://127.0.0.1:{nobody}")
    found = {
        "refused": check(f"http://127.0.0.1:{nobody}/v1"),
        "name": check("https://no-such-host.invalid/v1"),
        "plain": check(f"https://127.0.0.1:{upstream.port}/v1"),
        "metadata": check("http://169.254.169.254/v1"),
        "proxy": check(f"{upstream.origin}/v1", connection=proxied),
        "credential": check(f"{upstream.origin}/v1", secret="sk\r\nx: 1"),
    }
    with self_signed(tmp_path) as address:
        found["certificate"] = check(address)
    with closing_each() as address:
        found["closed"] = check(address)
    with listening() as server:
        address = f"http://127.0.0.1:{server.getsockname()[1]}/v1"
        found["silent"] = check(address, call_s=0.3)
    with running_proxy("somebody:else") as proxy:
        connection = ConnectionSettings(proxy_url=proxy.url, proxy_credential=f"me:{SECRET}")
        found["proxy's credential"] = check(f"{upstream.origin}/v1", connection=connection)

    assert {name: finding.outcome for name, finding in found.items()} == {
        "refused": Outcome.REFUSED,
        "name": Outcome.DNS,
        "plain": Outcome.TLS,
        "metadata": Outcome.NOT_PERMITTED,
        "proxy": Outcome.REFUSED,
        "credential": Outcome.REJECTED,
        "certificate": Outcome.TLS,
        "closed": Outcome.NOT_HTTP,
        "silent": Outcome.TIMEOUT,
        "proxy's credential": Outcome.PROXY_REFUSED,
    }
    assert "nothing listens at the proxy 127.0.0.1" in found["proxy"].message
    assert "TLS certificate is not valid: self" in found["certificate"].message
    assert "within 0.3 s" in found["silent"].message
    assert SECRET not in str(found)


@pytest.mark.parametrize("kind", ["google", "entra", "aws"])
def test_tokens_are_made_for_the_call(kind: str) -> None:
    with running_accounts() as accounts:
        texts = {
            "google": json.dumps(service_account(f"{accounts.origin}/google/token")),
            "entra": json.dumps(
                {
                    "tenant_id": "contoso.example",
                    "client_id": "app-id",
                    "client_secret": "entra-secret-value",
                    "authority": accounts.origin,
                }
            ),
            "aws": json.dumps(
                {
                    "access_key_id": "AKIDEXAMPLE12345",
                    "secret_access_key": "aws-secret-value",
                    "role_arn": "arn:aws:iam::123456789012:role/gateway",
                    "sts_endpoint": f"{accounts.origin}/sts",
                }
            ),
        }
        record = CredentialRecord(
            credential_id="c", name="c", kind=kind, secret=texts[kind], region="eu-west-1"
        )
        served = check(f"{accounts.origin}/v1", credential=record)
        accounts.token_refusal = (401, b'{"error":"invalid_client"}')
        refused = check(f"{accounts.origin}/v1", credential=replace(record))

    assert served.outcome is Outcome.SERVED, served
    assert refused.outcome is Outcome.NO_ACCESS
    assert refused.message.startswith("The gateway has no access token for the provider: ")
    assert sum(accounts.shown.values()) == 1


@pytest.mark.django_db
def test_a_test_call_is_in_the_audit_log_and_charged_to_nobody(upstream: UpstreamServer) -> None:
    provider = make_provider("up", kind="vllm", base_url=upstream.base_url)
    make_model("ours", provider=provider, native_model="fake")

    made = make_test_call(provider, model="ours", actor=WHO)

    assert (made.model, made.finding.outcome) == ("fake", Outcome.SERVED)
    event = AuditEvent.objects.get(action="provider.test_call")
    assert (event.actor, event.target, event.workspace) == (WHO, "up", None)
    assert event.details == {"model": "fake", "outcome": "served"}
    assert not LedgerEntry.objects.exists()
    assert not CallRecord.objects.exists()
    assert not hasattr(Provider.objects.get(), "health")


@pytest.mark.django_db
def test_each_credential_can_be_tested(upstream: UpstreamServer) -> None:
    base_url = f"{upstream.origin}/keyed/v1"
    provider = make_provider("up", kind="openai", base_url=base_url, credential="sk-right")
    add_credential(provider, name="other", credential=SECRET, enabled=False, actor=WHO)

    right = make_test_call(provider, model="fake", actor=WHO)
    wrong = make_test_call(provider, model="fake", credential="other", actor=WHO)

    assert (right.credential, right.finding.outcome) == ("default", Outcome.SERVED)
    assert (wrong.credential, wrong.finding.outcome) == ("other", Outcome.KEY_REFUSED)
    details = AuditEvent.objects.filter(action="provider.test_call").latest("id").details
    assert details["credential_name"] == "other"


@pytest.mark.django_db
def test_the_command_makes_the_call_and_says_what_came_of_it(upstream: UpstreamServer) -> None:
    provider = make_provider("up", kind="vllm", base_url=upstream.base_url)

    none = refusal_of("test_provider", "up", "--call")
    typed = ask("test_provider", "up", "--call", "--model", "fake")
    stranger = refusal_of("test_provider", "up", "--call", "--model", "fake", "--credential", "x")
    useless = refusal_of("test_provider", "up", "--model", "fake")

    assert "serves no model yet" in none
    assert (typed["reachable"], typed["outcome"], typed["model"]) == (True, "served", "fake")
    assert (typed["credential"], typed["base_url"]) == (None, provider.base_url)
    assert "no credential x" in stranger
    assert "--call" in useless
