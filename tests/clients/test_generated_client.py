"""A client that openapi-python-client generates from the OpenAPI document makes the call."""

from __future__ import annotations

import os
import subprocess
import urllib.request
from pathlib import Path

from tests.clients.environments import command_in, install
from tests.support.servers import GatewayServer

GENERATE_S = 300
# Nothing is left out of the client without a failure, and nobody reads it, so it is not formatted.
OPTIONS = ("--meta", "none", "--fail-on-warning")
CONFIG = "post_hooks: []\n"
CALL = """
import os

from tollhouse_client import AuthenticatedClient
from tollhouse_client.api.calls import create_chat_completion
from tollhouse_client.models import ChatCompletion, ChatCompletionRequest
from tollhouse_client.models import UserMessage, UserMessageRole

client = AuthenticatedClient(base_url=os.environ["BASE_URL"], token=os.environ["KEY"])
message = UserMessage(role=UserMessageRole.USER, content="Good morning")
answer = create_chat_completion.sync(
    client=client, body=ChatCompletionRequest(model="tollhouse/simulated", messages=[message])
)
assert isinstance(answer, ChatCompletion), answer
print(answer.choices[0].message.content)
"""


def run(folder: Path, paths: list[Path], *arguments: str, **told: str) -> str:
    """Return what a program prints, run where openapi-python-client is."""
    command, env = command_in(install("openapi"), *arguments)
    env["PYTHONPATH"] = os.pathsep.join((*map(str, paths), env["PYTHONPATH"]))
    done = subprocess.run(
        command,
        cwd=folder,
        env=env | told,
        capture_output=True,
        text=True,
        timeout=GENERATE_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_generated_client_makes_the_call(shared_gateway: GatewayServer, tmp_path: Path) -> None:
    urllib.request.urlretrieve(f"{shared_gateway.base_url}/openapi.json", tmp_path / "openapi.json")
    (tmp_path / "config.yml").write_text(CONFIG)
    where = ("--path", "openapi.json", "--config", "config.yml")

    generate = ("-m", "openapi_python_client", "generate")
    run(tmp_path, [], *generate, *where, "--output-path", "tollhouse_client", *OPTIONS)
    reached = {"BASE_URL": shared_gateway.base_url, "KEY": shared_gateway.key}
    said = run(tmp_path, [tmp_path], "-c", CALL, **reached)

    assert "Good morning" in said
