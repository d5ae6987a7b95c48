"""What Prometheus reads of a server process, over real sockets."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from tests.flows.site import Site, running_site
from tests.house.tree import text_of
from tests.support.metrics import Metrics, get, scrape
from tests.support.ports import free_port
from tests.support.redis import RedisServer, running_redis
from tests.support.waiting import wait_until

METRIC = re.compile(r"\b(?:tollhouse|process)_\w+")
BY = re.compile(r"\bby \(([\w, ]+)\)")
COMPARED = re.compile(r"(\w+)(?:=~|!=|=)\"")
FROM_PROMETHEUS = {"instance", "job"}
TOKEN = "a-token-of-sixteen-or-more"


@dataclass
class Watched:
    """A site whose metrics are read at a port of their own, and at its own port with a token."""

    site: Site
    port: int
    redis: RedisServer

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/metrics"

    def scrape(self) -> Metrics:
        return scrape(self.url, token=TOKEN)


@pytest.fixture(scope="module")
def watched(home_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    home = Path(shutil.copytree(home_template, tmp_path_factory.mktemp("metrics") / "home"))
    port = free_port()
    env = {"TOLLHOUSE_METRICS_PORT": str(port), "TOLLHOUSE_METRICS_TOKEN": TOKEN}
    with running_redis() as redis, running_site(home, env=env | {"REDIS_URL": redis.url}) as site:
        yield Watched(site, port, redis)


def test_calls_are_counted_with_tokens_charge_and_durations(watched: Watched) -> None:
    before = watched.scrape()
    caller = watched.site.caller()

    whole = caller.ask("script:tokens=5", max_tokens=50)
    streamed = caller.ask("script:tokens=7", max_tokens=50, stream=True)

    assert (whole.status, streamed.status) == (200, 200)
    after = watched.scrape()
    chat = {"endpoint": "chat_completions"}

    def grown(name: str, **labels: str) -> float:
        return after.sum(name, **labels) - before.sum(name, **labels)

    assert grown("tollhouse_calls_total", status="ok", **chat) == 2
    assert grown("tollhouse_tokens_total", kind="completion") == 12
    assert grown("tollhouse_charge_nusd_total") > 0
    assert grown("tollhouse_call_duration_seconds_count", streamed="yes", **chat) == 1
    assert grown("tollhouse_call_duration_seconds_bucket", streamed="no", le="+Inf") == 1
    assert grown("tollhouse_added_latency_seconds_count", **chat) == 2
    assert grown("tollhouse_time_to_first_token_seconds_count") == 1
    assert grown("tollhouse_provider_attempts_total", outcome="ok") == 2


def test_failures_and_refusals_are_counted_by_their_codes(watched: Watched) -> None:
    before = watched.scrape()
    caller = watched.site.caller()

    caller.ask("script:status=500", max_tokens=50)
    caller.ask("Hello", model="no-such-model")
    get(f"{watched.site.gateway.origin}/v1/models", host="elsewhere.example")

    after = watched.scrape()

    def grown(name: str, **labels: str) -> float:
        return after.sum(name, **labels) - before.sum(name, **labels)

    assert grown("tollhouse_calls_total", status="upstream_error") == 1
    assert grown("tollhouse_provider_attempts_total") == 1
    assert grown("tollhouse_provider_attempts_total", outcome="ok") == 0
    assert grown("tollhouse_refusals_total", layer="call") == 1
    assert grown("tollhouse_refusals_total", layer="edge", code="invalid_host") == 1


def test_running_calls_and_their_holds_are_shown(watched: Watched) -> None:
    caller = watched.site.caller()
    call = caller.begin("script:tokens=5&stall_after=2&gate=watched", stream=True, max_tokens=50)
    call.wait_for_tokens(1)

    during = watched.scrape()
    watched.site.upstream.open_gate("watched")
    call.answer()

    assert during.sum("tollhouse_live_calls") == during.sum("tollhouse_live_streams") == 1
    assert during.sum("tollhouse_purse_held_nusd") > 0
    wait_until(lambda: watched.scrape().sum("tollhouse_live_calls") == 0, what="no live call")


def test_the_process_and_its_stores_are_shown(watched: Watched) -> None:
    metrics = watched.scrape()

    assert metrics.sum("tollhouse_ready") == metrics.sum("tollhouse_database_up") == 1
    assert metrics.sum("tollhouse_build_info") == 1
    assert metrics.sum("process_resident_memory_bytes") > 10_000_000
    assert metrics.sum("process_open_fds") > 5
    assert metrics.sum("tollhouse_journal_faults") == 0
    for name in ("records", "bytes", "age_seconds"):
        assert f"tollhouse_journal_backlog_{name}" in metrics.names()
    wait_until(
        lambda: watched.scrape().sum("tollhouse_event_loop_lag_seconds_count") > 0,
        what="the loop's lag to be measured",
    )
    wait_until(
        lambda: watched.scrape().sum("tollhouse_journal_backlog_records") == 0,
        what="all records to be posted",
    )


def test_redis_that_is_away_is_shown(watched: Watched) -> None:
    def is_up() -> bool:
        return watched.scrape().sum("tollhouse_redis_up") == 1

    wait_until(is_up, what="Redis to be there")
    watched.redis.stop()
    wait_until(lambda: not is_up(), what="Redis to be away")
    watched.redis.start()
    wait_until(is_up, what="Redis to be back")

    assert watched.scrape().sum("tollhouse_redis_outages_total") == 1


def test_a_proof_is_shown_with_its_age_and_verdict(watched: Watched) -> None:
    watched.site.gateway.manage("prove", "--record")

    metrics = watched.scrape()

    assert 0 <= metrics.sum("tollhouse_proof_age_seconds") < 600
    assert "tollhouse_proof_breaks" in metrics.names()
    assert metrics.sum("tollhouse_proof_breaks") == 0


def test_no_label_has_a_key_a_workspace_or_a_word_of_a_caller(watched: Watched) -> None:
    caller = watched.site.caller()
    caller.ask("Hello", model="a-name-that-a-caller-made-up")
    caller.ask("script:tokens=1", max_tokens=5, user="somebody")

    text = get(watched.url, token=TOKEN).body.decode()

    assert "made-up" not in text
    assert "somebody" not in text
    assert caller.key_id not in text
    assert "Demo" not in text


def test_the_token_is_needed_at_both_ports(watched: Watched) -> None:
    own = f"{watched.site.gateway.origin}/metrics"

    answers = [get(url, token=token).status for url in (own, watched.url) for token in ("", "no")]

    assert answers == [401] * 4
    assert get(own, token=TOKEN, host="10.1.2.3").status == 200
    assert get(own, token=TOKEN, method="POST").status == 405
    assert get(watched.url.replace("/metrics", "/other"), token=TOKEN).status == 404


def test_there_are_no_metrics_unless_a_setting_asks_for_them(site: Site) -> None:
    assert get(f"{site.gateway.origin}/metrics").status == 404


def test_alerts_and_the_dashboard_ask_for_what_there_is(watched: Watched) -> None:
    """Every metric and label that a query of deploy/ names is in a scrape."""
    caller = watched.site.caller()
    caller.ask("script:tokens=1", max_tokens=5, stream=True)
    caller.ask("Hello", model="no-such-model")
    watched.site.gateway.manage("prove", "--record")
    rules = yaml.safe_load(text_of("deploy/prometheus/alerts.yml"))
    board = json.loads(text_of("deploy/grafana/tollhouse.json"))
    queries = [rule["expr"] for group in rules["groups"] for rule in group["rules"]]
    queries += [target["expr"] for panel in board["panels"] for target in panel.get("targets", ())]

    metrics = watched.scrape()
    samples = [sample for family in metrics.families.values() for sample in family.samples]
    labels = {name for sample in samples for name in sample.labels} | FROM_PROMETHEUS
    asked = {name for query in queries for name in METRIC.findall(query)}
    by = {name for query in queries for group in BY.findall(query) for name in group.split(", ")}
    compared = {name for query in queries for name in COMPARED.findall(query)}

    assert len(queries) > 40
    assert asked - metrics.names() == set()
    assert (by | compared) - labels == set()
