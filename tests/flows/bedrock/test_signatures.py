"""Calls signed with access keys: the fake upstream recomputes each signature."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.flows.bedrock.conftest import ACCESS, NATIVE, NOVA, PROFILE, SETTINGS, SIGNED
from tests.flows.caller import Caller
from tests.flows.site import Site
from tests.flows.transports import both_transports, named
from tests.flows.whole_message import BOTH
from tests.support.servers import ROOT, run_manage


@both_transports
@BOTH
def test_a_signed_call_is_answered(signed: Caller, stream: bool) -> None:
    assert signed.ask("script:tokens=2", stream=stream).text == "tok0 tok1 "


@both_transports
@BOTH
def test_the_encoded_name_of_a_model_is_signed_as_it_is_sent(
    signed: Caller, transport: str, stream: bool
) -> None:
    caller = signed.with_(model=named(f"{PROFILE}-{SIGNED}", transport))

    assert caller.ask("script:tokens=1", stream=stream).text == "tok0 "


@BOTH
@pytest.mark.parametrize(
    "wrong",
    [{"secret_access_key": "x" * 40}, {"access_key_id": "AKIDWRONG00000000000"}],
)
def test_wrong_keys_are_the_gateways_fault(
    bedrock_site: Site, wrong: dict[str, str], stream: bool
) -> None:
    name = f"bedrock-wrong-{stream}-{next(iter(wrong))[:6]}"
    provider = bedrock_site.office.do(
        "provider",
        name=name,
        kind="aws_bedrock",
        base_url=f"{bedrock_site.upstream.origin}/bedrock",
        settings=SETTINGS,
        credential=json.dumps(ACCESS | wrong, separators=(",", ":")),
    )
    model = bedrock_site.add_model(name, provider=provider, native_model=NATIVE[NOVA])

    answer = bedrock_site.caller().with_(model=model).ask(stream=stream)

    assert (answer.status, answer.error["code"]) == (502, "provider_auth")
    assert bedrock_site.record(answer.call_id)["charge_nusd"] == 0


def test_the_test_of_a_provider_shows_nobody_the_keys(bedrock_site: Site) -> None:
    told = bedrock_site.office.do("command", name="test_provider", arguments=["bedrock-signed"])

    assert told["outcome"] == "reachable"
    assert "does not use the credential" in told["message"]


def test_the_test_of_a_provider_uses_its_api_key(bedrock_site: Site) -> None:
    told = bedrock_site.office.do("command", name="test_provider", arguments=["bedrock"])

    assert (told["outcome"], told["message"]) == (
        "reachable",
        "Reachable. It has no list of models.",
    )


@pytest.mark.parametrize(
    ("credential", "is_taken"), [(json.dumps(ACCESS), False), ("bedrock-api-key-0123456789", True)]
)
def test_without_botocore_access_keys_are_refused_and_api_keys_are_not(
    bedrock_site: Site, tmp_path: Path, credential: str, is_taken: bool
) -> None:
    (tmp_path / "botocore").mkdir()
    (tmp_path / "botocore" / "__init__.py").touch()

    done = run_manage(
        bedrock_site.gateway.home,
        *("add_provider", f"without-botocore-{is_taken}", "--kind", "aws_bedrock"),
        *("--setting", "region=eu-central-1", "--credential-stdin"),
        env={"PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])},
        stdin=credential,
    )

    assert (done.returncode == 0) == is_taken, done.stderr
    refused = "botocore is not installed" in done.stderr and "make .venv/aws.stamp" in done.stderr
    assert refused == (not is_taken)
