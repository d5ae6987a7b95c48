"""Schemathesis against a gateway of its own. To ask it more than the test does:

    python -m tests.contract.asking --max-examples 1000 --seed 7

Other options of `schemathesis run` are taken too. A failure prints the `curl` line that shows it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Sequence
from pathlib import Path

from tests.support.servers import ROOT, GatewayServer, prepare_home, run_manage, running_gateway
from tests.support.waiting import wait_until

PREPARE = """
from accounts.models import Workspace
from accounts.services import set_stores_bodies
set_stores_bodies(Workspace.objects.get(name="Demo"), stores_bodies=True, actor="contract")
from keys.models import ApiKey
from keys.services import update_key
key = ApiKey.objects.get(workspace__name="Demo")
rules = ("label", "allowed_models", "denied_models", "allowed_ips", "denied_ips", "expires_at")
update_key(
    key,
    **{name: getattr(key, name) for name in rules},
    scopes=[*key.scopes, "files", "language", "pii"],
    actor="contract",
)
"""
CONFIG = Path(__file__).with_name("schemathesis.toml")


def ask(server: GatewayServer, *options: str) -> subprocess.CompletedProcess[str]:
    """Ask a gateway everything that its document says, under the seeded key, and return what
    Schemathesis printed. Exit status 0: nothing found."""
    # Calls may cost anything that a limit can say: money shall not be what ends them.
    server.manage("grant_credits", "Demo", "1000000", "--reason", "Calls of any price")
    # Responses are there to be read again, and texts are processed.
    prepared = run_manage(server.home, "shell", "-c", PREPARE)
    assert prepared.returncode == 0, prepared.stderr
    found = {
        "CONTRACT_RESPONSE": wait_until(lambda: make_response(server), what="a stored response"),
        "CONTRACT_DELETED": make_response(server),
    }
    command = [sys.executable, "-m", "schemathesis.cli", "--config-file", str(CONFIG), "--no-color"]
    return subprocess.run(
        [*command, "run", f"{server.base_url}/openapi.json", *options],
        cwd=ROOT,
        env=os.environ | {"CONTRACT_KEY": server.key, "PYTHONPATH": str(ROOT)} | found,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def make_response(server: GatewayServer) -> str:
    """Return the ID of a new response; nothing as long as responses are not stored."""
    request = urllib.request.Request(
        f"{server.base_url}/responses",
        data=json.dumps({"model": "tollhouse/simulated", "input": "Say hello."}).encode(),
        headers={"authorization": f"Bearer {server.key}", "content-type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        response = json.load(answer)
    return str(response["id"]) if response["store"] else ""


def main(options: Sequence[str]) -> int:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        prepare_home(home)
        with running_gateway(home) as server:
            done = ask(server, *options)
            sys.stdout.write(done.stdout)
            if "Traceback" in (log := server.log.read_text()):
                sys.stdout.write(log[log.index("Traceback") :][:10_000])
            return done.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
