"""`python -m bench.first_token --url … --key …`: how much later a stream begins with anonymise.

Asks a running installation for streams, in turns without and with the processor, and prints
medians: how much later the first token comes, and how much of that is not the analysis, which the
answer reports. The key needs the scopes completions and pii. Let the machine rest meanwhile.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import statistics
import sys
import time
from typing import Any
from urllib.parse import urlsplit

TEXT = "Ann de Vries (ann.devries@example.com, 020 7946 0958) asks about her order."
WARM_UP = 5


def ask(url: str, key: str, body: dict[str, Any]) -> tuple[float, float]:
    """Return after how many milliseconds the first token came, and the processor's own."""
    parts = urlsplit(url)
    link = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=60)
    headers = {"authorization": f"Bearer {key}", "content-type": "application/json"}
    first_ms = analysis_ms = 0.0
    began = time.perf_counter()
    link.request("POST", f"{parts.path}/chat/completions", json.dumps(body), headers)
    answer = link.getresponse()
    if answer.status != 200:
        raise SystemExit(f"{answer.status}: {answer.read(500).decode()}")
    for line in answer:
        if not line.startswith(b"data: {"):
            continue
        chunk = json.loads(line[6:])
        if not first_ms and any(one["delta"].get("content") for one in chunk["choices"]):
            first_ms = (time.perf_counter() - began) * 1000
        if "inferada" in chunk:
            analysis_ms = chunk["inferada"]["processors"]["anonymise"]["duration_ms"]
    link.close()
    return first_ms, analysis_ms


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.first_token", description=__doc__)
    parser.add_argument("--url", default="http://127.0.0.1:8000/v1")
    parser.add_argument("--key", required=True)
    parser.add_argument("--model", default="tollhouse/simulated")
    parser.add_argument("--calls", type=int, default=200, help="of each kind")
    options = parser.parse_args()
    message = {"role": "user", "content": TEXT}
    plain = {"model": options.model, "stream": True, "max_tokens": 16, "messages": [message]}
    processed = plain | {"inferada": {"processors": ["anonymise"], "language": "en"}}
    later, beyond = [], []
    for number in range(WARM_UP + options.calls):
        without_ms, _ = ask(options.url, options.key, plain)
        with_ms, analysis_ms = ask(options.url, options.key, processed)
        if number >= WARM_UP:
            later.append(with_ms - without_ms)
            beyond.append(with_ms - without_ms - analysis_ms)
    sys.stdout.write(
        f"{options.calls} calls of each kind, load {os.getloadavg()[0]:.1f}. Later with anonymise:"
        f" {statistics.median(later):.1f} ms; beyond its analysis: {statistics.median(beyond):.1f}"
        " ms (medians).\n"
    )


if __name__ == "__main__":
    main()
