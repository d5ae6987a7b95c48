"""`prove` finds what was tampered with, says which rule it breaks, and changes nothing."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import connection

from accounts.models import Wallet
from gateway.core.money import Price
from gateway.core.receipt import PDF, ToolUse
from gateway.models import CallRecord, LedgerCheck
from gateway.outbound.proxies import read_environment
from gateway.services.proving import prove
from gateway.stores.process_stores import ProcessStores
from tests.money.office import admitted, end, hold, make_rich, run_with_stores
from tests.support.ports import free_port
from tests.support.proxy import running_proxy
from tests.support.servers import UpstreamServer

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def ledger(tmp_path: Path) -> None:
    """Three calls: 300 and 200 nUSD, and one left running that was aborted."""
    workspace = make_rich(10_000)

    async def work(stores: ProcessStores) -> None:
        for charge in (300, 200, None):
            record = admitted(str(workspace.pk), await hold(stores, str(workspace.pk), 700))
            stores.records.admitted(record)
            if charge is not None:
                end(stores, record, charge, streamed=charge == 300)

    run_with_stores(tmp_path, work)


@pytest.mark.usefixtures("ledger")
def test_untouched_ledger_is_proved_and_every_rule_has_looked_at_something() -> None:
    proof = prove()

    assert proof.holds
    assert (proof.calls, proof.entries) == (3, 2)
    looked = {finding.id for finding in proof.findings if finding.checked}
    assert looked >= {"I1", "I1b", "I3", "I4b", "I5", "I6", "I8", "I9", "I11", "I13", "I17", "I18"}


CHARGED = "WHERE charge_nusd = 300"
TAMPERINGS = [
    ("I1", "UPDATE accounts_wallet SET posted_nusd = posted_nusd + 1"),
    ("I1b", "UPDATE accounts_ledgerentry SET balance_nusd = balance_nusd + 1 WHERE sequence = 2"),
    ("I2", "UPDATE accounts_wallet SET drawn_nusd = 1"),
    ("I4", "UPDATE gateway_callrecord SET status = 'in_progress' WHERE charge_basis LIKE 'zero%'"),
    ("I4b", f"UPDATE gateway_callrecord SET status = 'upstream_error' {CHARGED}"),
    ("I6", f"UPDATE gateway_callrecord SET prompt_tokens = 0, completion_tokens = 0 {CHARGED}"),
    ("I9", f"UPDATE gateway_callrecord SET completion_tokens = 301 {CHARGED}"),
    ("I9", f"UPDATE gateway_callrecord SET charge_nusd = 299, absorbed_nusd = 1 {CHARGED}"),
    ("I9", f"UPDATE gateway_callrecord SET charge_nusd = 299 {CHARGED}"),
    ("I11", "UPDATE gateway_callrecord SET absorbed_nusd = 5 WHERE charge_basis LIKE 'zero%'"),
    ("I13", f"DELETE FROM gateway_callrecord {CHARGED}"),
    ("I13", "UPDATE accounts_ledgerentry SET calls = 9 WHERE kind = 'usage'"),
    ("I13b", "UPDATE gateway_usagerollup SET calls = calls + 1"),
    ("I13b", "UPDATE gateway_callrecord SET prompt_tokens = prompt_tokens + 1"),
    ("I13c", "DELETE FROM gateway_latencyrollup WHERE measure = 'added'"),
    ("I17", f"UPDATE gateway_callrecord SET output_pusd_per_token = 1002 {CHARGED}"),
    ("I18", "UPDATE accounts_ledgerentry SET sequence = 9 WHERE sequence = 2"),
    ("I20", "UPDATE accounts_ledgerentry SET actor = '' WHERE kind = 'grant'"),
]


@pytest.mark.usefixtures("ledger")
@pytest.mark.parametrize(("rule", "tampering"), TAMPERINGS)
def test_tampering_is_found_under_its_rule(rule: str, tampering: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(tampering)
        assert cursor.rowcount > 0

    broken = {finding.id for finding in prove().findings if finding.breaks}

    assert rule in broken


OF_PAGES = "WHERE pdf_pages = 2 AND charge_basis"
PAGE_TAMPERINGS = [
    (
        "I6",
        f"UPDATE gateway_callrecord SET pdf_pages = 1, completion_tokens = 0 {OF_PAGES} = 'usage'",
    ),
    ("I6", f"UPDATE gateway_callrecord SET pdf_page_nusd = -1 {OF_PAGES} = 'usage'"),
    ("I9", f"UPDATE gateway_callrecord SET pdf_pages = 3 {OF_PAGES} = 'usage'"),
    ("I9", f"UPDATE gateway_callrecord SET pdf_page_nusd = 101 {OF_PAGES} = 'usage'"),
    ("I11", f"UPDATE gateway_callrecord SET pdf_pages = 3 {OF_PAGES} LIKE 'zero%'"),
    ("I17", f"UPDATE gateway_callrecord SET pdf_pages = 0 {OF_PAGES} = 'usage'"),
]


@pytest.fixture
def ledger_with_pages(tmp_path: Path) -> None:
    """Two calls with two pages of 100 nUSD: one charged them and 300 for tokens, one nothing."""
    workspace = make_rich(10_000)
    pages = {"tools": (ToolUse(PDF, 2, 100),)}
    nothing = {"charge_basis": "zero_empty", "absorbed_nusd": 200, "completion_tokens": 0}

    async def work(stores: ProcessStores) -> None:
        for charge, fields in ((500, {"completion_tokens": 300}), (0, nothing)):
            record = admitted(str(workspace.pk), await hold(stores, str(workspace.pk), 700))
            stores.records.admitted(record)
            end(stores, record, charge, **(fields | pages))

    run_with_stores(tmp_path, work)


@pytest.mark.usefixtures("ledger")
def test_command_says_how_many_breaks_there_are() -> None:
    with connection.cursor() as cursor:
        cursor.execute("UPDATE accounts_ledgerentry SET actor = '' WHERE kind = 'grant'")
    output = StringIO()

    with pytest.raises(SystemExit):
        call_command("prove", stdout=output)

    assert "BROKEN: 1 break." in output.getvalue()


@pytest.mark.usefixtures("ledger_with_pages")
@pytest.mark.parametrize(("rule", "tampering"), PAGE_TAMPERINGS)
def test_fees_are_proved_like_tokens(rule: str, tampering: str) -> None:
    assert prove().holds
    with connection.cursor() as cursor:
        cursor.execute(tampering)
        assert cursor.rowcount == 1

    broken = {finding.id for finding in prove().findings if finding.breaks}

    assert rule in broken


@pytest.mark.usefixtures("ledger_with_pages")
def test_fees_of_charges_with_very_large_numbers_are_checked_exactly() -> None:
    large = CallRecord.objects.filter(charge_basis="usage")
    large.update(prompt_tokens=2**30)
    assert "I9b" not in {finding.id for finding in prove().findings if finding.breaks}

    large.update(pdf_pages=1)

    assert "I9b" in {finding.id for finding in prove().findings if finding.breaks}


@pytest.fixture
def ledger_with_units(tmp_path: Path) -> None:
    """A call that has written 100 of 300 prompt tokens to a cache, and made two images, with a tool
    that was used three times; and one with the same that cost its caller nothing."""
    workspace = make_rich(10_000_000)
    used = {
        "price": Price(1_000, 100, 2_000, (("cache_write", 3_000), ("image", 400_000))),
        "prompt_tokens": 300,
        "completion_tokens": 10,
        "others": {"cache_write": 100, "image": 2},
        "tools": (ToolUse("search", 3, 50),),
    }
    cost = 200 + 300 + 20 + 800 + 150
    nothing = {"charge_basis": "zero_empty", "absorbed_nusd": cost}

    async def work(stores: ProcessStores) -> None:
        for charge, fields in ((cost, {}), (0, nothing)):
            record = admitted(str(workspace.pk), await hold(stores, str(workspace.pk), cost))
            stores.records.admitted(record)
            end(stores, record, charge, **(used | fields))

    run_with_stores(tmp_path, work)


OF_UNITS = "UPDATE gateway_callrecord SET"
UNIT_TAMPERINGS = [
    f"{OF_UNITS} units = replace(units, '100', '101')",
    f"{OF_UNITS} units = replace(units, '3000', '3010')",
    f"{OF_UNITS} units = replace(units, '400000', '400500')",
    f"{OF_UNITS} units = replace(units, 'image', 'picture')",
    f"{OF_UNITS} units = '[]'",
    f"{OF_UNITS} units = NULL",
    f"{OF_UNITS} tool_uses = replace(tool_uses, '50', '51')",
    f"{OF_UNITS} tool_uses = NULL",
    f"{OF_UNITS} charge_nusd = charge_nusd + 1",
]


@pytest.mark.usefixtures("ledger_with_units")
@pytest.mark.parametrize("basis", ["usage", "zero_empty"])
@pytest.mark.parametrize("tampering", UNIT_TAMPERINGS)
def test_other_units_and_tools_are_proved_to_the_nano(tampering: str, basis: str) -> None:
    assert prove().holds
    with connection.cursor() as cursor:
        cursor.execute(f"{tampering} WHERE charge_basis = '{basis}'")
        assert cursor.rowcount == 1

    broken = {finding.id for finding in prove().findings if finding.breaks}

    assert broken & {"I9", "I9b", "I11", "I4b"}


@pytest.mark.usefixtures("ledger")
def test_charge_with_very_large_numbers_is_checked_exactly() -> None:
    CallRecord.objects.filter(charge_nusd=300).update(completion_tokens=2**60)

    broken = {finding.id for finding in prove().findings if finding.breaks}

    assert "I9b" in broken


@pytest.mark.usefixtures("ledger")
def test_upstreams_usage_is_compared_call_by_call() -> None:
    calls = list(CallRecord.objects.exclude(charge_nusd=0))
    outside = [
        {"request_id": str(call.pk), "prompt_tokens": 0, "completion_tokens": call.charge_nusd}
        for call in calls
    ]

    assert prove(upstream_usage=outside).holds

    outside[0]["completion_tokens"] += 1  # type: ignore[operator]
    outside.append(outside[0] | {"request_id": "01a1fd64-aaf4-748d-be12-7b8f9dbccee1"})
    broken = {finding.id for finding in prove(upstream_usage=outside).findings if finding.breaks}
    assert broken == {"I7", "I9c"}


@pytest.mark.usefixtures("ledger")
def test_command_tells_the_verdict_keeps_it_and_fails_on_a_break(tmp_path: Path) -> None:
    assert "PROVED" in run_prove()
    Wallet.objects.update(posted_nusd=1)

    with pytest.raises(SystemExit) as ended:
        run_prove(record=True)

    assert ended.value.code == 1
    assert LedgerCheck.objects.get().breaks[0].startswith("I1: wallet")
    with pytest.raises(CommandError, match="cannot be read"):
        run_prove(upstream_usage=str(tmp_path / "missing.json"))


@pytest.mark.usefixtures("ledger")
def test_command_prints_one_json_object(tmp_path: Path) -> None:
    place = tmp_path / "ledger.json"
    place.write_text(json.dumps({"calls": []}))

    answer = json.loads(run_prove(json=True, upstream_usage=str(place)))

    assert answer["holds"] is True
    assert {"I7", "I9c", "I10"} <= {invariant["id"] for invariant in answer["invariants"]}
    assert not LedgerCheck.objects.exists()


@pytest.mark.usefixtures("ledger")
def test_command_reads_the_records_of_a_server(upstream: UpstreamServer) -> None:
    answer = json.loads(run_prove(json=True, upstream_usage=f"{upstream.origin}/book?id=none"))

    assert answer["holds"] is True
    assert "I9c" in {invariant["id"] for invariant in answer["invariants"]}


@pytest.mark.parametrize(
    ("address", "part"),
    [
        ("{origin}/nowhere", "answered 404"),
        ("{origin}/v1/models", "has no list of calls"),
        ("http://127.0.0.1:{closed}/", "connection attempts failed"),
        ("http://169.254.169.254/", "169.254.169.254"),
        ("http://", "cannot be read"),
        ("http://[", "cannot be read"),
    ],
)
def test_command_says_why_records_cannot_be_read(
    upstream: UpstreamServer, address: str, part: str
) -> None:
    address = address.format(origin=upstream.origin, closed=free_port())

    with pytest.raises(CommandError, match=part):
        run_prove(upstream_usage=address)


def test_command_goes_by_the_proxy_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    with running_proxy(echoes=True) as proxy:
        proxies = read_environment({"HTTP_PROXY": proxy.url})
        monkeypatch.setattr(settings, "ENVIRONMENT_PROXIES", proxies)
        with pytest.raises(CommandError, match="answered 400"):
            run_prove(upstream_usage="http://usage.example/list")

    assert [line for line, _ in proxy.seen] == ["GET http://usage.example/list HTTP/1.1"]


def run_prove(**options: Any) -> str:
    output = StringIO()
    call_command("prove", stdout=output, **options)
    return output.getvalue()
