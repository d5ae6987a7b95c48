"""A background worker beside a site, and batches made of requests."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from gateway.launch.programs import worker_command
from tests.flows.caller import Answer, Caller
from tests.flows.site import Site
from tests.flows.stored_files.asking import SCOPES, get, uploaded
from tests.support.servers import ROOT, STOP_S, environment
from tests.support.waiting import wait_until

BATCHES = "/v1/batches"
CHAT: Final = "/v1/chat/completions"
# The worker looks for work every few seconds, and a lease may have to run out.
ENDS_WITHIN_S = 180


@dataclass
class Worker:
    """The background worker of a site."""

    home: Path
    env: Mapping[str, str]
    process: subprocess.Popen[bytes] = field(init=False, repr=False)

    def start(self) -> None:
        with (self.home / "worker.log").open("ab") as log:
            self.process = subprocess.Popen(
                worker_command(),
                cwd=ROOT,
                env=environment(self.home, self.env),
                stdout=log,
                stderr=log,
            )

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(STOP_S)


@contextmanager
def running_worker(site: Site, env: Mapping[str, str] | None = None) -> Iterator[Worker]:
    origin = {"TOLLHOUSE_BATCH_ORIGIN": site.gateway.origin}
    worker = Worker(site.gateway.home, {**site.gateway.env, **origin, **(env or {})})
    worker.start()
    try:
        yield worker
    finally:
        if worker.process.poll() is None:
            worker.stop()


def batch_caller(site: Site, **options: Any) -> Caller:
    return site.caller(scopes=SCOPES, **options)


def chat(custom_id: str, prompt: str, model: str = "fake-model", **fields: Any) -> dict[str, Any]:
    body = {"model": model, "messages": [{"role": "user", "content": prompt}]} | fields
    return {"custom_id": custom_id, "method": "POST", "url": CHAT, "body": body}


def upload_lines(caller: Caller, lines: Sequence[Mapping[str, Any]]) -> str:
    content = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    return uploaded(caller, content, filename="in.jsonl", purpose="batch")


def create(caller: Caller, file_id: str, *, endpoint: str = CHAT, **members: Any) -> Answer:
    body = {"input_file_id": file_id, "endpoint": endpoint, "completion_window": "24h"}
    headers = members.pop("headers", {})
    return caller.ask(path=BATCHES, raw=json.dumps(body | members).encode(), headers=headers)


def created(caller: Caller, lines: Sequence[Mapping[str, Any]], **options: Any) -> dict[str, Any]:
    answer = create(caller, upload_lines(caller, lines), **options)
    assert answer.status == 200, answer.body
    batch: dict[str, Any] = answer.json
    return batch


def look(caller: Caller, path: str = "") -> Answer:
    return caller.ask(path=f"{BATCHES}{path}", method="GET", raw=b"", headers={"content-type": ""})


def find(caller: Caller, batch_id: str) -> dict[str, Any]:
    batch: dict[str, Any] = look(caller, f"/{batch_id}").json
    return batch


def cancel(caller: Caller, batch_id: str) -> Answer:
    return caller.ask(path=f"{BATCHES}/{batch_id}/cancel", raw=b"")


def ended(caller: Caller, batch_id: str) -> dict[str, Any]:
    """Return the batch once it is over."""

    def over() -> dict[str, Any] | None:
        batch = find(caller, batch_id)
        is_over = batch["status"] in ("completed", "failed", "expired", "cancelled")
        return batch if is_over else None

    found = wait_until(over, within_s=ENDS_WITHIN_S, what=f"the end of {batch_id}")
    assert found is not None
    return found


def results(caller: Caller, file_id: str | None) -> dict[str, dict[str, Any]]:
    """Return the lines of a file of results, by custom_id: each is there once."""
    if file_id is None:
        return {}
    lines = [json.loads(line) for line in get(caller, f"/{file_id}/content").body.splitlines()]
    found = {line["custom_id"]: line for line in lines}
    assert len(found) == len(lines)
    return found
