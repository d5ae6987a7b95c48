"""Makes the requests of a batch at the gateway of this host, as any caller would.

Each has an idempotency key of the batch and the line: asked again, after a worker or a server was
killed, it gets the answer that it had and is charged once. What the gateway or a provider cannot
do now is asked for again later.
"""

from __future__ import annotations

import http.client
import logging
import random
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from socket import SHUT_RDWR
from typing import NamedTuple
from urllib.parse import urlsplit

import msgspec

from gateway.services.batches.lines import Line
from gateway.services.batches.parts import Answered, Outcome, WrittenError

log = logging.getLogger(__name__)

# A call to a model ends within ten minutes.
ANSWERS_WITHIN_S = 660
# A line that cannot be asked for so long makes room for others.
WAITS_HERE_S = 20.0
MAX_WAIT_S = 60.0
FIRST_WAIT_S = 0.5
# Asked for again until the batch ends; then failures of providers, so many times.
BUSY = frozenset({429, 503, 529})
FAILING = frozenset({500, 502, 504})
MAX_FAILURES = 4
CONFLICT = 409
# The key, its workspace or its money is at fault: every other line would be refused, too.
ENDING = frozenset({401, 402})
ENDING_CODES = frozenset({"workspace_locked", "insufficient_scope", "ip_not_allowed"})


class Place(NamedTuple):
    """Where requests go. credential: returns what they show in the place of a key."""

    origin: str
    endpoint: str
    credential: Callable[[], str]


class Ending(NamedTuple):
    """Why no further line is asked for."""

    code: str
    message: str


class Asker:
    """Makes requests side by side, in threads. stop: nothing new is begun, those under way are
    finished; abandon: they are not waited for."""

    def __init__(self, batch_id: str, place: Place) -> None:
        self._batch_id = batch_id
        self._place = place
        self._links: set[http.client.HTTPConnection] = set()
        self._lock = threading.Lock()
        self._is_stopped = threading.Event()
        self._is_abandoned = False
        self.ending: Ending | None = None
        # The longest that a line has been told to wait.
        self.wait_s = 0.0

    def stop(self) -> None:
        self._is_stopped.set()

    def abandon(self) -> None:
        """The calls go on without us, and their answers are there for who asks again."""
        self._is_abandoned = True
        self.stop()
        with self._lock:
            for link in self._links:
                with suppress(OSError):
                    if link.sock is not None:
                        link.sock.shutdown(SHUT_RDWR)

    def ask(self, line: Line) -> Outcome | None:
        """Return what has come of a line, None where nothing has yet."""
        waited_s, failures, wait_s = 0.0, 0, FIRST_WAIT_S
        while not self._is_stopped.is_set():
            try:
                answer, retry_after = self._post(line)
            except (OSError, http.client.HTTPException):
                answer, retry_after = None, None
            if answer is not None:
                failures += answer.status_code in FAILING
                if not _may_ask_again(answer, failures, retry_after):
                    return self._judge(line, answer)
            pause_s = max(retry_after or 0.0, wait_s * random.uniform(0.7, 1.3))  # noqa: S311
            wait_s = min(wait_s * 2, MAX_WAIT_S)
            if waited_s + pause_s > WAITS_HERE_S:
                # The other lines would be told the same.
                self.wait_s = max(self.wait_s, min(pause_s, MAX_WAIT_S))
                self.stop()
                return None
            self._is_stopped.wait(pause_s)
            waited_s += pause_s
        return None

    def _judge(self, line: Line, answer: Answered) -> Outcome:
        if answer.status_code >= 300:
            error = read_error(answer)
            if answer.status_code in ENDING or error.code in ENDING_CODES:
                self.ending = self.ending or Ending(error.code, error.message)
                self.stop()
        return Outcome(line.place, line.custom_id, answer)

    def _post(self, line: Line) -> tuple[Answered, float | None]:
        """Return the answer, and how many seconds it asks to wait, if it does. Raises OSError and
        HTTPException."""
        name = f"{self._batch_id}:{line.place.number}"
        headers = {
            "authorization": f"Bearer {self._place.credential()}",
            "content-type": "application/json",
            "idempotency-key": name,
            "x-client-request-id": name,
            "user-agent": "tollhouse-batch",
        }
        with self._connected() as link:
            link.request("POST", self._place.endpoint, line.body, headers)
            response = link.getresponse()
            raw = response.read()
        request_id = response.headers.get("x-request-id", "")
        answer = Answered(response.status, request_id, _as_json(raw))
        return answer, _read_seconds(response.headers.get("retry-after"))

    @contextmanager
    def _connected(self) -> Iterator[http.client.HTTPConnection]:
        place = urlsplit(self._place.origin)
        is_https = place.scheme == "https"
        make = http.client.HTTPSConnection if is_https else http.client.HTTPConnection
        link = make(place.hostname or "", place.port, timeout=ANSWERS_WITHIN_S)
        with self._lock:
            if self._is_abandoned:
                raise OSError("the worker stops")
            self._links.add(link)
        try:
            yield link
        finally:
            with self._lock:
                self._links.discard(link)
            link.close()


def _may_ask_again(answer: Answered, failures: int, retry_after: float | None) -> bool:
    """A conflict with a time to wait: the request that was made before the kill is still running.
    Without one its answer was too large to be kept."""
    status = answer.status_code
    if status == CONFLICT:
        return retry_after is not None
    return status in BUSY or (status in FAILING and failures < MAX_FAILURES)


def _read_seconds(text: str | None) -> float | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        return None


def read_error(answer: Answered) -> WrittenError:
    """Return what an answer says went wrong, whatever its format."""
    try:
        said = msgspec.json.decode(answer.body)
    except msgspec.DecodeError:
        said = None
    error = said.get("error") if isinstance(said, dict) else None
    error = error if isinstance(error, dict) else {}
    details = error.get("details")
    code = (details.get("code") if isinstance(details, dict) else None) or error.get("code")
    message = error.get("message")
    return WrittenError(
        str(code or f"http_{answer.status_code}")[:60],
        str(message or f"The gateway answered {answer.status_code}.")[:2_000],
    )


def _as_json(raw: bytes) -> msgspec.Raw:
    """Return a body as JSON; what is none, as a text."""
    try:
        msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return msgspec.Raw(msgspec.json.encode(raw.decode("utf-8", "replace")))
    return msgspec.Raw(raw.strip())
