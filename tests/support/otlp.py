"""An OpenTelemetry collector for tests: takes OTLP over HTTP and keeps it, decoded."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, Span

from tests.support.http_server import ClosingHTTPServer
from tests.support.waiting import wait_until


class Collector:
    """status: what it answers. While may_answer is not set, it answers nothing."""

    def __init__(self) -> None:
        self.status = 200
        self.may_answer = threading.Event()
        self.may_answer.set()
        # How many requests have arrived.
        self.asked = 0
        # By path, of requests that were answered 200.
        self.bodies: list[tuple[str, bytes]] = []
        self._server = ClosingHTTPServer(self._handler())
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def _handler(collector) -> type[BaseHTTPRequestHandler]:  # noqa: N805
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                if self.headers.get("content-encoding") == "gzip":
                    body = gzip.decompress(body)
                collector.asked += 1
                collector.may_answer.wait()
                if collector.status == 200:
                    collector.bodies.append((self.path, body))
                self.send_response(collector.status)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:
                """Say nothing."""

        return Handler

    @contextmanager
    def running(self) -> Iterator[None]:
        thread = threading.Thread(target=self._server.serve_forever)
        thread.start()
        try:
            yield
        finally:
            self.may_answer.set()
            self._server.shutdown()
            thread.join()
            self._server.server_close()

    def resource_spans(self) -> list[ResourceSpans]:
        return [
            of_resource
            for path, body in list(self.bodies)
            if path == "/v1/traces"
            for of_resource in ExportTraceServiceRequest.FromString(body).resource_spans
        ]

    def spans(self) -> list[Span]:
        return [
            span
            for of_resource in self.resource_spans()
            for of_scope in of_resource.scope_spans
            for span in of_scope.spans
        ]

    def instances(self) -> set[object]:
        """Return the processes that have sent spans."""
        return {
            attributes_of(found.resource.attributes)["service.instance.id"]
            for found in self.resource_spans()
        }

    def spans_of(self, call_id: str, count: int) -> list[Span]:
        """Return the spans of a call once there are so many: its own, then those of attempts."""

        def find() -> list[Span]:
            spans = self.spans()
            roots = [
                span
                for span in spans
                if attributes_of(span.attributes).get("tollhouse.call.id") == call_id
            ]
            if not roots:
                return []
            found = roots + [span for span in spans if span.parent_span_id == roots[0].span_id]
            return found if len(found) >= count else []

        return wait_until(find, what=f"{count} spans of a call")

    def metrics(self) -> dict[str, Metric]:
        """Return the newest of each metric, by name."""
        return {
            metric.name: metric
            for path, body in list(self.bodies)
            if path == "/v1/metrics"
            for of_resource in ExportMetricsServiceRequest.FromString(body).resource_metrics
            for of_scope in of_resource.scope_metrics
            for metric in of_scope.metrics
        }


def attributes_of(attributes: Sequence[KeyValue]) -> dict[str, object]:
    """Return attributes as Python's values, by name."""
    return {one.key: _value_of(one) for one in attributes}


def _value_of(attribute: KeyValue) -> object:
    value = attribute.value
    if value.HasField("array_value"):
        return [item.string_value for item in value.array_value.values]
    if value.HasField("int_value"):
        return value.int_value
    return value.string_value


@contextmanager
def running_collector() -> Iterator[Collector]:
    collector = Collector()
    with collector.running():
        yield collector
