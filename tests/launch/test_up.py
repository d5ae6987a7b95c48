"""One command starts everything, and the same command starts the same thing again."""

from __future__ import annotations

import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.launch.installation import READY_S, STOP_S, is_alive, running
from tests.support.ports import free_port
from tests.support.require import require_binary
from tests.support.servers import ROOT, environment, run_manage
from tests.support.waiting import wait_until

pytestmark = pytest.mark.slow
linux_only = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


def test_the_printed_curl_line_answers_when_it_is_pasted(tmp_path: Path) -> None:
    require_binary("curl", package="curl")
    with running(tmp_path / "home") as installation:
        [line] = [line for line in installation.said.splitlines() if line.startswith("curl ")]

        pasted = subprocess.run(
            ["sh", "-c", f"{line} --silent --fail"], capture_output=True, text=True, check=True
        )

        assert '"chat.completion"' in pasted.stdout
        assert stat.S_IMODE((tmp_path / "home" / "quickstart.json").stat().st_mode) == 0o600
        assert installation.stop(signal.SIGINT) == 0
        assert "Traceback" not in installation.said


@pytest.fixture
def ctrl_c_reaches_programs() -> Iterator[None]:
    """Programs ignore Ctrl-C if the tests were started in the background of a script."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("ctrl_c_reaches_programs")
def test_a_first_start_that_is_stopped_at_once_prints_no_traceback(tmp_path: Path) -> None:
    output = tmp_path / "up.log"
    with output.open("wb") as file:
        process = subprocess.Popen(
            [sys.executable, str(ROOT / "manage.py"), "up"],
            cwd=ROOT,
            env=environment(tmp_path / "home", {"TOLLHOUSE_PORT": str(free_port())}),
            stdout=file,
            stderr=file,
        )
    try:
        wait_until(lambda: "Migrating the database" in output.read_text(), within_s=READY_S)

        process.send_signal(signal.SIGINT)

        assert process.wait(STOP_S) in (0, 130)  # 0: its programs ran already
    finally:
        process.terminate()
    assert "Traceback" not in output.read_text()


def test_a_second_start_is_the_same_installation(home: Path) -> None:
    with running(home) as first:
        before = first.quickstart
        call_id = first.ask()["id"]

    with running(home, port=first.port) as second:
        after = second.quickstart
        choices = second.ask()["choices"]

    assert after == before
    assert choices
    assert call_id.startswith("chatcmpl-")
    assert run_manage(home, "prove").returncode == 0


def test_a_stop_lets_live_calls_end(home: Path) -> None:
    with running(home) as installation:
        call = installation.open_call("script:tokens=30&delay_ms=100", stream=True)
        first = call.readline()

        installation.process.send_signal(signal.SIGTERM)
        rest = call.read()

        assert first.startswith(b"data: ")
        assert rest.endswith(b"data: [DONE]\n\n")
        assert b'"error"' not in rest
        assert installation.process.wait(STOP_S) == 0


@linux_only
def test_a_server_that_dies_is_started_again(home: Path) -> None:
    with running(home) as installation:
        server = installation.children()["server"]

        subprocess.run(["kill", "-KILL", str(server)], check=True)
        wait_until(lambda: "Restarting it" in installation.said, what="a word about it")
        wait_until(installation.answers, within_s=READY_S, what="the server to be back")

        assert installation.children()["server"] != server
        assert "The server ended (SIGKILL)" in installation.said


@linux_only
def test_children_end_with_their_parent(home: Path) -> None:
    with running(home) as installation:
        children = installation.children()

        installation.process.kill()
        installation.process.wait()

        assert set(children) == {"server", "worker"}
        wait_until(
            lambda: not any(is_alive(pid) for pid in children.values()),
            within_s=STOP_S,
            what="the children to end",
        )


def test_a_provider_key_in_the_environment_becomes_a_provider(home: Path) -> None:
    with running(home, env={"DEEPSEEK_API_KEY": "sk-not-a-real-one"}) as installation:
        said = installation.said

    with running(home, env={"DEEPSEEK_API_KEY": "sk-not-a-real-one"}) as again:
        said_again = again.said

    assert "Added DeepSeek (deepseek-chat, deepseek-reasoner)" in said
    assert "DeepSeek" not in said_again
    assert "sk-not-a-real-one" not in said
