"""A gateway in whose processes the scratch package is registered."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.conftest import add_fake_model
from tests.flows.caller import Answer, Caller
from tests.house.seams.upstream import running_scratch_provider
from tests.support.servers import ROOT, UpstreamServer, run_manage, running_gateway
from tests.support.waiting import wait_until

SCRATCH = Path(__file__).parent
ENV = {
    "PYTHONPATH": os.pathsep.join([str(SCRATCH), str(ROOT)]),
    "DJANGO_SETTINGS_MODULE": "tests.house.seams.settings",
}


@dataclass(frozen=True)
class ScratchSite:
    """The gateway, and its data."""

    home: Path
    port: int

    def manage(self, *arguments: str) -> dict[str, Any]:
        done = run_manage(self.home, *arguments, "--json", env=ENV)
        assert done.returncode == 0, done.stdout + done.stderr
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer

    def caller(self, *options: str, workspace: str = "Demo") -> Caller:
        issued = self.manage("issue_key", workspace, "A key", *options)
        return Caller(self.port, issued["secret"], issued["key_id"], "")

    def poor_caller(self, usd: str) -> Caller:
        """Return a caller of a workspace of its own that has so much."""
        made = self.manage("create_workspace", "Poor", "--credit", usd)
        return self.caller(workspace=made["slug"])

    def record(self, caller: Caller, answer: Answer) -> dict[str, Any]:
        """Return a call as its generation lookup shows it."""

        def find() -> dict[str, Any] | None:
            found = caller.begin(
                path=f"/v1/generation?id={answer.call_id}", method="GET", raw=b""
            ).answer()
            return found.json if found.status == 200 else None

        found = wait_until(find, what="the record of a call")
        assert found is not None
        return found


@contextmanager
def running_scratch_site(
    home_template: Path, target: Path, upstream: UpstreamServer
) -> Iterator[ScratchSite]:
    """Run it with its data in a new folder `target`."""
    home = Path(shutil.copytree(home_template, target))
    prepared = run_manage(home, "prepare", "--json", env=ENV)  # adds the price column
    assert prepared.returncode == 0, prepared.stderr
    with running_scratch_provider() as url, running_gateway(home, env=ENV) as gateway:
        site = ScratchSite(home, gateway.port)
        site.manage("add_provider", "scratch", "--kind", "scratch", "--base-url", url)
        site.manage(
            *("add_model", "scratch-model", "--provider", "scratch", "--native", "s"),
            *("--input", "1", "--output", "2", "--price", "page=0.001", "--max-output", "1000"),
        )
        site.manage(
            *("add_model", "scratch-tokens", "--provider", "scratch", "--native", "s"),
            *("--input", "1", "--output", "2", "--max-output", "1000"),
        )
        gateway.wait_for_model("scratch-tokens")
        add_fake_model(gateway, upstream)
        yield site
