"""What must be true after any line of the corpus."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path
from urllib.request import urlopen

from gateway.journal.refusals import LISTED_A_MINUTE
from tests.corpus.wire import Talk
from tests.flows.caller import Answer, Caller
from tests.flows.site import Site

PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class Witness:
    """Compares what the upstream and the system say before and after."""

    def __init__(self, site: Site, healthy: Caller) -> None:
        self._site = site
        self._healthy = healthy
        self._pid = site.gateway.process.pid
        self._calls = self.calls()
        self.expected_calls = 0

    def calls(self) -> int:
        """Return how many calls have reached the upstream."""
        with urlopen(f"{self._site.upstream.origin}/book?id=none", timeout=60) as answer:
            return int(json.load(answer)["requests"])

    def rss_bytes(self) -> int:
        return int(Path(f"/proc/{self._pid}/statm").read_text().split()[1]) * PAGE_BYTES

    def open_files(self) -> int:
        return len(os.listdir(f"/proc/{self._pid}/fd"))

    def assert_unharmed(self) -> None:
        """Assert that nothing got upstream, the process lives, and a call is served."""
        assert self.calls() - self._calls == self.expected_calls
        assert self._site.gateway.process.poll() is None
        probe = self._healthy.ask("how are you")
        assert (probe.status, probe.text) == (200, self._healthy.ask("how are you").text)


def assert_refused(answer: Answer, status: int, code: str) -> None:
    """Assert that an answer is the API's refusal, whole, with this status and code."""
    assert answer.headers["content-type"] == "application/json", answer
    error = json.loads(answer.body)["error"]
    assert (answer.status, error["code"]) == (status, code), answer.body
    assert set(error) >= {"message", "type", "code", "param", "request_id"}
    assert error["message"]
    assert error["request_id"] == answer.headers["x-request-id"]


def assert_refused_in_records(site: Site, caller: Caller, codes: Counter[str]) -> None:
    """Assert that the caller's records are of refusals that hold and cost nothing, count so many
    calls of each code, and list the first ones of each minute and code one by one."""
    records = site.records(caller, count=codes.total())
    counted: Counter[str] = Counter()
    for record in records:
        counted[record["error_code"]] += record["counted_calls"]
    assert counted == codes
    kept = {(r["status"], r["hold_nusd"], r["charge_nusd"]) for r in records}
    assert kept == {("refused", 0, 0)}
    alone = Counter(r["error_code"] for r in records if r["counted_calls"] == 1)
    assert all(alone[code] >= min(count, LISTED_A_MINUTE) for code, count in codes.items())


def assert_cut(talk: Talk, status: int, code: str) -> None:
    """Assert one refusal, then the end of the connection."""
    assert_refused(talk.answer, status, code)
    assert talk.answer.headers["connection"] == "close"
    assert talk.is_closed
    assert talk.rest == b""
