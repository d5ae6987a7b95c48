"""A gateway, the upstream it calls and the office that runs it, with what tests ask of them."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any

from tests.flows.caller import Answer, Caller
from tests.flows.office import Office, open_office
from tests.support.servers import (
    GatewayServer,
    UpstreamServer,
    running_gateway,
    running_upstream,
)
from tests.support.waiting import DEADLINE_S, wait_until

NUSD_PER_USD = 10**9
# What the models below cost for a token, in nano-USD.
INPUT_NUSD, OUTPUT_NUSD = 1_000, 2_000
CREDENTIAL = "sk-canary-0123456789abcdef"
KEEP_ALIVE = ": keep-alive"
_numbers = count(1)


@dataclass(frozen=True)
class Site:
    """Tests make callers of their own, so that none sees the money or records of another."""

    gateway: GatewayServer
    upstream: UpstreamServer
    office: Office

    def caller(self, *, credit_nusd: int = NUSD_PER_USD, **rules: Any) -> Caller:
        """Return a caller of a new workspace. rules: those of its key."""
        name = f"Workspace {next(_numbers)}"
        workspace_id = self.office.do("workspace", name=name, credit_nusd=credit_nusd)
        return self.another_key(workspace_id, **rules)

    def limited_caller(self, *, credit_nusd: int = NUSD_PER_USD, **limits: int) -> Caller:
        """Return a caller of a new workspace whose key has these limits (keys.limits)."""
        caller = self.caller(credit_nusd=credit_nusd)
        self.office.do("limit_key", key_id=caller.key_id, **limits)
        return caller

    def members_caller(self, *, credit_nusd: int = NUSD_PER_USD) -> Caller:
        """Return a caller of a new workspace whose key is a member's own."""
        workspace_id = self.caller(credit_nusd=credit_nusd).workspace_id
        email = f"member@{workspace_id}.example"
        wishes = {"email": email, "password": "a long and dull password", "role": "developer"}
        self.office.do("person", workspace_id=workspace_id, **wishes)
        return self.another_key(workspace_id, owner=email)

    def another_key(self, workspace_id: str, **rules: Any) -> Caller:
        made = self.office.do("key", workspace_id=workspace_id, **rules)
        return Caller(self.gateway.port, made["secret"], made["key_id"], workspace_id)

    def add_model(self, name: str, *, provider: str = "fake", **fields: Any) -> str:
        """Add a model and return its name once the gateway offers it."""
        self.office.do("model", name=name, provider=provider, **fields)
        self.gateway.wait_for_model(name)
        return name

    def stream_through_silence(self, caller: Caller, script: str = "", **options: Any) -> Answer:
        """Make a streamed call that goes on upstream once a comment has filled the silence: at its
        beginning, or where the script's stall_after says."""
        said: list[str] = []
        prompt = f"script:{script}&gate={caller.key_id}"
        with caller.begin(prompt, stream=True, **options) as live:
            for line in live.lines():
                said.append(line)
                if line == KEEP_ALIVE:
                    break
            self.upstream.open_gate(caller.key_id)
            rest = live.answer()
        before = "".join(f"{line}\n\n" for line in said).encode()
        return replace(rest, body=before + rest.body.removeprefix(b"\n"))

    def record(self, call_id: str) -> dict[str, Any]:
        """Return a call's record once the call has ended."""

        def find() -> dict[str, Any] | None:
            found = self.office.do("record", call_id=call_id)
            return found if found and found["status"] != "in_progress" else None

        found = wait_until(find, what=f"the end of call {call_id}")
        assert found is not None
        return found

    def records(self, caller: Caller, *, count: int = 1) -> list[dict[str, Any]]:
        """Return the records of the caller's key once they stand for so many calls that have ended.
        One record may stand for many refusals: `counted_calls`."""

        def find() -> list[dict[str, Any]]:
            found: list[dict[str, Any]] = self.office.do("records", key_id=caller.key_id)
            ended = [record for record in found if record["status"] != "in_progress"]
            counted = sum(record["counted_calls"] for record in ended)
            return ended if counted >= count else []

        return wait_until(find, what=f"records of {count} calls")

    def running(self, caller: Caller, *, count: int) -> list[dict[str, Any]]:
        """Return the records of the caller's live calls once there are so many."""

        def find() -> list[dict[str, Any]]:
            found: list[dict[str, Any]] = self.office.do("records", key_id=caller.key_id)
            live = [record for record in found if record["status"] == "in_progress"]
            return live if len(live) >= count else []

        return wait_until(find, what=f"{count} live calls")

    def balance_nusd(self, caller: Caller) -> int:
        return int(self.office.do("balance_nusd", workspace_id=caller.workspace_id))

    def tries(self, call_id: str) -> list[dict[str, Any]]:
        """Return the upstream's own entries of a call."""
        url = f"{self.upstream.origin}/book?id={call_id}"
        with urllib.request.urlopen(url, timeout=60) as answer:
            found: list[dict[str, Any]] = json.load(answer)["calls"]
        return found

    def wait_for_try(
        self, call_id: str, *, state: str, within_s: float = DEADLINE_S
    ) -> dict[str, Any]:
        """Return the upstream's entry of a call once it is in this state."""

        def find() -> dict[str, Any] | None:
            return next((try_ for try_ in self.tries(call_id) if try_["state"] == state), None)

        what = f"the upstream to see {call_id} {state}"
        found = wait_until(find, within_s=within_s, what=what)
        assert found is not None
        return found

    def assert_free(self, caller: Caller, balance_nusd: int) -> None:
        """Assert that no call of the workspace holds anything: all of it buys one more call."""
        prompt_nusd = 20 * INPUT_NUSD
        limit = (balance_nusd - prompt_nusd) // OUTPUT_NUSD
        answer = caller.ask("script:echo", max_tokens=limit)
        assert answer.status == 200, answer.body
        assert json.loads(answer.echo["body_text"])["max_tokens"] == limit


@contextmanager
def running_site(
    home: Path,
    env: Mapping[str, str] | None = None,
    *,
    office_env: Mapping[str, str] | None = None,
) -> Iterator[Site]:
    """Run a gateway that has these models, all served by a fake upstream of its own:

    fake-model; small-model, which writes at most 100 tokens; free-model, which costs nothing.
    When the block ends well, every hold must be gone and the ledger must add up.
    office_env: the settings of the office, where they are not those of the gateway.
    """
    with (
        running_upstream() as upstream,
        running_gateway(home, env=env) as gateway,
        open_office(home, env if office_env is None else office_env) as office,
    ):
        site = Site(gateway, upstream, office)
        office.do("provider", name="fake", base_url=upstream.base_url, credential=CREDENTIAL)
        office.do("model", name="fake-model", provider="fake")
        office.do("model", name="small-model", provider="fake", max_output_tokens=100)
        site.add_model("free-model", input_pusd=0, output_pusd=0)
        yield site
        if gateway.process.poll() is None:
            office.do("call_back")
            wait_until(lambda: office.do("drawn_nusd") == 0, what="all purses to come back")
        breaks = office.do("breaks", upstream_usage=upstream.book())
        # Upstreams here lie about their tokens, and send several in one, because they are told to.
        breaks = [text for text in breaks if not text.startswith(("I9c", "I10"))]
        assert breaks == [], "\n".join(breaks)
