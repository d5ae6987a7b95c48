"""Traces and metrics of calls, as a collector gets them over a real socket."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric

from tests.flows.site import Site, running_site
from tests.flows.test_limit_rules import limit
from tests.support.otlp import Collector, attributes_of, running_collector
from tests.support.ports import free_port
from tests.support.servers import ROOT, environment
from tests.support.waiting import wait_until

PROMPT = "a secret that no trace may have"
CALLER_TRACE, CALLER_SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
METRICS = {
    *("gen_ai.client.token.usage", "gen_ai.client.operation.duration"),
    "gen_ai.client.operation.time_to_first_chunk",
    "gen_ai.client.operation.time_per_output_chunk",
}
# Fails within a second where the collector does not answer.
IMPATIENT = {"OTEL_EXPORTER_OTLP_TIMEOUT": "0.5", "OTEL_METRIC_EXPORT_INTERVAL": "500"}
# By itself, or by the signal that asked it to.
ENDED = (0, -signal.SIGTERM)
LOADED = """
import sys
import gateway.asgi
print([name for name in sys.modules if name.split(".")[0] in ("opentelemetry", "google")])
"""


@pytest.fixture(scope="module")
def collector() -> Iterator[Collector]:
    with running_collector() as collector:
        yield collector


@pytest.fixture(scope="module")
def traced(
    collector: Collector, home_template: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Site]:
    home = Path(shutil.copytree(home_template, tmp_path_factory.mktemp("traced") / "home"))
    env = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url,
        "OTEL_METRIC_EXPORT_INTERVAL": "300",
        "OTEL_RESOURCE_ATTRIBUTES": "deployment.environment.name=test",
    }
    with running_site(home, env) as site:
        yield site


def traceparent(*, version: str = "00", trace: str = CALLER_TRACE, flags: str = "01") -> str:
    return f"{version}-{trace}-{CALLER_SPAN}-{flags}"


def counted_by(collector: Collector) -> int:
    """Return how many calls the newest metrics are about."""
    found = collector.metrics().get("gen_ai.client.operation.duration")
    return 0 if found is None else sum(point.count for point in found.histogram.data_points)


def test_a_call_is_a_trace_of_its_own(traced: Site, collector: Collector) -> None:
    caller = traced.caller()

    answer = caller.ask(PROMPT, max_tokens=50, stream=True)

    root, attempt = collector.spans_of(answer.call_id, 2)
    record = traced.record(answer.call_id)
    said = attributes_of(root.attributes)
    assert (root.name, attempt.name) == ("chat fake-model", f"chat {record['native_model']}")
    assert (root.parent_span_id, attempt.parent_span_id) == (b"", root.span_id)
    assert root.trace_id == attempt.trace_id == bytes.fromhex(answer.call_id.replace("-", ""))
    assert root.start_time_unix_nano <= attempt.start_time_unix_nano
    assert attempt.end_time_unix_nano <= root.end_time_unix_nano + 1_000_000
    assert said["gen_ai.operation.name"] == "chat"
    assert said["gen_ai.request.model"] == said["gen_ai.response.model"] == "fake-model"
    assert said["gen_ai.provider.name"] == "fake"
    assert said["gen_ai.usage.input_tokens"] == record["prompt_tokens"]
    assert said["gen_ai.usage.output_tokens"] == record["completion_tokens"]
    assert said["gen_ai.response.finish_reasons"] == [record["finish_reason"]]
    assert said["tollhouse.key.id"] == caller.key_id
    assert said["tollhouse.charge_nusd"] == record["charge_nusd"]
    assert "error.type" not in said


def test_the_time_in_a_queue_is_before_the_first_attempt(
    traced: Site, collector: Collector
) -> None:
    caller = traced.caller()
    limit(traced, caller, "--metric", "concurrent_requests", "--maximum", "1")
    gate = f"traced-{caller.key_id}"
    with caller.begin(f"script:tokens=3&gate={gate}", stream=True) as live:
        traced.running(caller, count=1)
        with caller.begin() as queued:
            time.sleep(1)
            traced.upstream.open_gate(gate)
            live.answer()
            answer = queued.answer()

    root, attempt = collector.spans_of(answer.call_id, 2)
    record = traced.record(answer.call_id)
    waited_ns = (record["admit_us"] + record["queued_us"]) * 1_000
    assert record["queued_us"] > 500_000
    assert attempt.start_time_unix_nano - root.start_time_unix_nano == waited_ns


def test_failures_and_refusals_are_errors(traced: Site, collector: Collector) -> None:
    poor = traced.caller(credit_nusd=0)

    failed = traced.caller().ask("script:status=500")
    refused = poor.ask(headers={"traceparent": traceparent()})

    root, *attempts = collector.spans_of(failed.call_id, 2)
    [span] = collector.spans_of(refused.call_id, 1)
    assert attributes_of(root.attributes)["error.type"] == failed.error["code"]
    assert all(attributes_of(one.attributes)["error.type"] for one in attempts)
    assert attributes_of(span.attributes)["tollhouse.refused_by"] == "money"
    assert attributes_of(span.attributes)["http.response.status_code"] == 402
    assert span.parent_span_id.hex() == CALLER_SPAN


def test_a_callers_trace_goes_on(traced: Site, collector: Collector) -> None:
    answer = traced.caller().ask(headers={"traceparent": traceparent()})

    root, attempt = collector.spans_of(answer.call_id, 2)

    assert root.trace_id.hex() == attempt.trace_id.hex() == CALLER_TRACE
    assert root.parent_span_id.hex() == CALLER_SPAN
    assert attempt.parent_span_id == root.span_id


@pytest.mark.parametrize(
    "header",
    [
        traceparent(version="ff"),
        traceparent(trace="0" * 32),
        traceparent(trace=CALLER_TRACE.upper()),
        traceparent() + "-more",
        "x" * 5_000,
    ],
)
def test_what_is_no_span_of_a_caller_is_ignored(
    traced: Site, collector: Collector, header: str
) -> None:
    answer = traced.caller().ask(headers={"traceparent": header})

    [root, *_] = collector.spans_of(answer.call_id, 1)

    assert root.parent_span_id == b""
    assert root.trace_id.hex() == answer.call_id.replace("-", "")


def test_a_trace_that_its_caller_does_not_record_has_no_spans(
    traced: Site, collector: Collector
) -> None:
    caller = traced.caller()

    unrecorded = caller.ask(headers={"traceparent": traceparent(trace="1" * 32, flags="00")})
    collector.spans_of(caller.ask().call_id, 2)

    assert unrecorded.status == 200
    assert "11" * 16 not in {span.trace_id.hex() for span in collector.spans()}


def test_metrics_have_labels_of_the_catalogue_alone(traced: Site, collector: Collector) -> None:
    traced.caller().ask("script:tokens=5", max_tokens=50, stream=True)
    traced.caller().ask(model="nothing that exists")

    def metrics() -> dict[str, Metric]:
        found = collector.metrics()
        return found if found.keys() >= METRICS else {}

    found = wait_until(metrics, what="metrics")
    points = found["gen_ai.client.token.usage"].histogram.data_points
    labels = [attributes_of(point.attributes) for point in points]
    assert {one["gen_ai.token.type"] for one in labels} == {"input", "output"}
    assert {name for one in labels for name in one} == {
        *("gen_ai.operation.name", "gen_ai.provider.name"),
        *("gen_ai.response.model", "gen_ai.token.type"),
    }
    for name in METRICS:
        assert sum(point.count for point in found[name].histogram.data_points) > 0


def test_nothing_that_was_said_is_sent(traced: Site, collector: Collector) -> None:
    headers = {"x-client-request-id": "the-callers-own-name"}
    answer = traced.caller().ask(PROMPT, user="somebody@example.com", headers=headers)
    collector.spans_of(answer.call_id, 2)

    sent = b"".join(body for _, body in collector.bodies)

    assert b"fake-model" in sent
    assert b"deployment.environment.name" in sent
    for text in (PROMPT, "somebody@example.com", "the-callers-own-name", "127.0.0.1"):
        assert text.encode() not in sent


def test_a_share_of_the_calls_can_be_traced(home: Path) -> None:
    env = {"OTEL_TRACES_SAMPLER": "parentbased_traceidratio", "OTEL_TRACES_SAMPLER_ARG": "0.25"}
    with running_collector() as collector:
        env["OTEL_EXPORTER_OTLP_ENDPOINT"] = collector.url
        with running_site(home, env) as site:
            caller = site.caller()
            for _ in range(100):
                assert caller.ask().status == 200
            last = caller.ask(headers={"traceparent": traceparent()})
            collector.spans_of(last.call_id, 2)

        roots = [span for span in collector.spans() if not span.parent_span_id]
        assert 0 < len(roots) < 100


def test_calls_go_on_without_a_collector(home: Path) -> None:
    env = {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{free_port()}"} | IMPATIENT

    with running_site(home, env) as site:
        assert [site.caller().ask().status for _ in range(5)] == [200] * 5
        wait_until(lambda: "does not accept traces" in site.gateway.log.read_text())
        assert site.gateway.stop() in ENDED


@pytest.mark.parametrize("status", [404, 503])
def test_calls_of_the_time_when_it_refuses_are_sent_later(home: Path, status: int) -> None:
    with running_collector() as collector:
        env = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url} | IMPATIENT
        with running_site(home, env) as site:
            caller, log = site.caller(), site.gateway.log
            collector.status = status
            assert caller.ask().status == 200
            wait_until(lambda: "does not accept traces" in log.read_text(), what="a warning")
            wait_until(lambda: "does not accept metrics" in log.read_text(), what="another")
            asked = collector.asked
            answers = [caller.ask() for _ in range(40)]
            wait_until(lambda: collector.asked > asked + 2, what="another try")
            collector.status = 200

            collector.spans_of(answers[-1].call_id, 2)

            wait_until(lambda: "accepts traces again" in log.read_text(), what="the end of it")
            assert "further calls have no trace" in log.read_text()
            assert log.read_text().count("does not accept traces") == 1
            wait_until(lambda: counted_by(collector) == 41, what="metrics of all calls")


def test_calls_go_on_while_it_does_not_answer(home: Path) -> None:
    with running_collector() as collector:
        collector.may_answer.clear()
        env = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url, "OTEL_EXPORTER_OTLP_TIMEOUT": "600"}
        with running_site(home, env) as site:
            caller = site.caller()
            assert caller.ask().status == 200
            wait_until(lambda: collector.asked, what="the first spans")

            assert [caller.ask().status for _ in range(20)] == [200] * 20
            assert caller.stream(max_tokens=5).status == 200
            # It would wait for ten minutes, and has to be ended long before that.
            assert site.gateway.stop() in ENDED


def test_nothing_of_it_is_imported_without_a_collector(home: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOADED],
        env=environment(home),
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert (done.returncode, done.stdout) == (0, "[]\n"), done.stderr
