"""The files of deploy/ are read by the programs that they are for, and agree with the product."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
import yaml

from gateway.launch.programs import server_command, worker_command
from tests.house.tree import ROOT, text_of, tracked
from tests.support.require import require_binary

DEPLOY = ROOT / "deploy"
UNITS = sorted(path.name for path in (DEPLOY / "systemd").iterdir())
PYTHON = "/opt/tollhouse/.venv/bin/python"


def unit(name: str) -> str:
    return (DEPLOY / "systemd" / name).read_text()


def test_systemd_takes_every_unit(tmp_path: Path) -> None:
    analyze = require_binary("systemd-analyze", package="systemd")
    for name in UNITS:
        here = unit(name).replace("/opt/tollhouse/.venv/bin/python", "/bin/true")
        (tmp_path / name).write_text(here)

    done = subprocess.run(
        [analyze, "verify", "--man=no", *(str(tmp_path / name) for name in UNITS)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    said = [line for line in done.stderr.splitlines() if "tollhouse" in line]
    assert said == []
    assert done.returncode == 0, done.stderr


def test_units_start_what_up_starts() -> None:
    server = " ".join(server_command(host="127.0.0.1", port=8000)[1:])
    [_, _, _, *worker] = worker_command()

    assert f"ExecStart={PYTHON} {server}\n" in unit("tollhouse-server.service")
    assert f"ExecStart={PYTHON} {' '.join(worker)}\n" in unit("tollhouse-worker.service")
    assert f"ExecStart={PYTHON} manage.py up\n" in unit("tollhouse.service")


def test_the_image_has_what_the_product_needs() -> None:
    text = text_of("deploy/container/Containerfile")
    copied = set(re.findall(r"^COPY (?!--)(\S+)", text, re.MULTILINE))
    let_through = {line[1:] for line in text_of(".dockerignore").splitlines() if line[:1] == "!"}
    code = {p.split("/")[0] for p in tracked() if "/" in p} - {"bench", "deploy", "docs", "tests"}

    needed = {name for name in code if not name.startswith(".")} | {
        "manage.py",
        "requirements.lock",
        "deploy/aws.lock",
        "deploy/otel.lock",
        "deploy/s3.lock",
    }

    assert copied == let_through == needed
    assert "--require-hashes" in text


def test_compose_names_settings_that_exist() -> None:
    compose = yaml.safe_load(text_of("deploy/container/compose.yaml"))
    services = compose["services"]
    known = text_of("docs/settings.md")

    assert set(services) == {"tollhouse", "postgres", "valkey"}
    assert set(services["tollhouse"]["depends_on"]) == {"postgres", "valkey"}
    assert [name for name in services["tollhouse"]["environment"] if f"`{name}`" not in known] == []
    assert {v.split(":")[0] for s in services.values() for v in s.get("volumes", ())} == set(
        compose["volumes"]
    )


def test_prometheus_takes_the_alert_rules() -> None:
    promtool = require_binary("promtool", package="prometheus")

    done = subprocess.run(
        [promtool, "check", "config", str(DEPLOY / "prometheus" / "prometheus.yml")],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", ["alerts.yml", "prometheus.yml"])
def test_rules_are_yaml_without_surprises(name: str) -> None:
    assert yaml.safe_load(text_of(f"deploy/prometheus/{name}"))
