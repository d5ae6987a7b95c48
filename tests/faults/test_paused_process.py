"""A process stands still for longer than its lease, and wakes up after its calls were ended."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.flows.site import Site, running_site
from tests.support.waiting import wait_until


@pytest.fixture
def site(home_template: Path, tmp_path: Path) -> Iterator[Site]:
    home = Path(shutil.copytree(home_template, tmp_path / "home"))
    with running_site(home) as running:
        yield running


def test_who_wakes_up_after_its_lease_charges_nothing_again(site: Site) -> None:
    caller = site.caller()
    before = [caller.ask("a", max_tokens=5) for _ in range(3)]
    gate = caller.key_id
    stream = caller.begin(f"script:tokens=9&stall_after=2&gate={gate}", stream=True)
    stream.wait_for_tokens(2)
    buffered = caller.begin(f"script:tokens=9&gate={gate}")
    running = site.running(caller, count=2)

    site.gateway.process.send_signal(signal.SIGSTOP)
    site.office.do("forget_leases")
    ended = [process for _ in range(2) for process in site.office.do("end_silent")]
    drawn_nusd = site.office.do("drawn_nusd")
    site.gateway.process.send_signal(signal.SIGCONT)
    site.upstream.open_gate(gate)
    answers = [stream.answer(), buffered.answer()]
    # Had it stood still for as long as a lease is, it would let nobody in before it has noticed.
    wait_until(
        lambda: "was ended or overtaken" in site.gateway.log.read_text(),
        what="the process to notice",
    )
    wait_until(lambda: caller.ask("a", max_tokens=5).status == 200, what="calls to be admitted")

    assert len(ended) == 1
    assert drawn_nusd == 0
    assert {site.record(call.call_id)["status"] for call in before} == {"ok"}
    records = [site.record(str(call["id"])) for call in running]
    assert {(r["status"], r["charge_nusd"]) for r in records} == {("platform_aborted", 0)}
    assert answers[0].is_whole
    assert answers[0].events[-1] == "[DONE]"
    assert answers[1].status in (200, 503)
