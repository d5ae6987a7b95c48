"""Works on batches, a window of lines at a time (docs/adr/0073).

A worker may end at any point, and so may the server that it asks. What has come of a window is
written down in one transaction with how far the batch has got. A window of which nothing was
written down is asked for again: its idempotency keys have every line run and charged once.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from datetime import timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import F
from django.utils import timezone

from gateway.core.batch_pass import derive_secret, write_pass
from gateway.core.errors import StorageUnavailable
from gateway.file_storage.encryption import Damaged, DecryptingReader
from gateway.models import Batch, BatchPart, KeptAnswer
from gateway.selectors.files import readable
from gateway.services.batches.asking import Asker, Place
from gateway.services.batches.checking import check_lines, finding
from gateway.services.batches.leasing import (
    RENEW_EVERY_S,
    BatchLease,
    LeaseLost,
    free_own,
    take_next,
)
from gateway.services.batches.lines import (
    Line,
    LinePlace,
    find_custom_id,
    find_places,
    read_line,
    read_places,
    read_raw,
)
from gateway.services.batches.parts import (
    ERRORS,
    OUTPUT,
    Outcome,
    WrittenError,
    make_part,
    write_results,
)
from gateway.services.files.reading import open_file
from keys.models import ApiKey

log = logging.getLogger(__name__)

Status = Batch.Status
WINDOW_LINES = 64
WINDOW_BYTES = 8 * 1024 * 1024
# Without requests to make, lines are only read and written.
STOPPED_LINES = 1_000
LOOK_EVERY_S = 0.5
# Another batch has its turn after so long.
TURN_S = 30.0
AWAY_S = 30.0
EXPIRED = ("batch_expired", "The completion window ended before this request was made.")
NO_KEY = ("invalid_api_key", "The API key of the batch was deleted.")
BATCHES_AT_ONCE = 2
ENDS = {"batch_cancelled": Status.CANCELLED, "batch_expired": Status.EXPIRED}
_stopping = threading.Event()


def stop_working() -> None:
    """Have the work of this process end as soon as it can."""
    _stopping.set()


class BatchWork:
    """The work of one process. So many threads of it work on batches; more find nothing to do."""

    def __init__(self) -> None:
        self._places = threading.BoundedSemaphore(BATCHES_AT_ONCE)
        self._lock = threading.Lock()
        self._has_begun = False

    def run(self) -> int:
        """Work on the batches that can be worked on, one after the other, until there is none or
        the process stops. Returns how many turns there were."""
        if not self._places.acquire(blocking=False):
            return 0
        turns = 0
        try:
            self._begin()
            while not _stopping.is_set() and (taken := take_next()) is not None:
                turns += 1
                _work_on(*taken)
        finally:
            self._places.release()
        return turns

    def _begin(self) -> None:
        with self._lock:
            if not self._has_begun:
                free_own()
            self._has_begun = True


def _work_on(batch: Batch, lease: BatchLease) -> None:
    try:
        try:
            _Turn(batch, lease).take()
        except LeaseLost:
            raise
        except StorageUnavailable as error:
            log.warning("%s waits: %s", batch.public_id, error.detail or error.message)
            _put_off(lease, AWAY_S)
        except Exception:
            log.exception("%s could not be worked on.", batch.public_id)
            _put_off(lease, AWAY_S)
        lease.release()
    except LeaseLost:
        log.info("Another worker has %s.", batch.public_id)


def _put_off(lease: BatchLease, seconds: float) -> None:
    lease.update(not_before=timezone.now() + timedelta(seconds=seconds))


class _Turn:
    """One turn of one batch."""

    def __init__(self, batch: Batch, lease: BatchLease) -> None:
        self._batch = batch
        self._lease = lease

    def take(self) -> None:
        """Raises LeaseLost, StorageUnavailable."""
        batch, ends = self._batch, time.monotonic() + TURN_S
        file = readable(batch.workspace_id).filter(pk=batch.input_file).first()
        if batch.status != Status.FINALIZING and file is None:
            self._lose_file("The input file was deleted or has expired.")
        elif batch.status != Status.FINALIZING and file is not None:
            try:
                with open_file(file) as reader:
                    if batch.status == Status.VALIDATING:
                        self._validate(reader)
                    while self._goes_on(reader):
                        if time.monotonic() > ends or _stopping.is_set():
                            return
            except Damaged as error:
                log.error("The file %s is damaged. %s", file.public_id, error)
                self._lose_file("The content of the input file is not available.")
        if batch.status == Status.FINALIZING:
            self._finalize()

    def _validate(self, reader: DecryptingReader) -> None:
        batch, now = self._batch, timezone.now()
        batch.total, errors = check_lines(batch, reader, self._lease)
        if errors:
            self._lease.update(status=Status.FAILED, errors=errors, ended_at=now, total=0, failed=0)
            batch.status = Status.FAILED
            return
        rows = Batch.objects.filter(pk=batch.pk, status=Status.VALIDATING)
        rows.update(status=Status.IN_PROGRESS, in_progress_at=now)
        self._lease.update(total=batch.total)
        batch.refresh_from_db()

    def _lose_file(self, message: str) -> None:
        """End a batch whose input file is gone: what has come of it is kept."""
        errors = [*self._batch.errors, finding("input_file_not_found", message)]
        self._lease.update(status=Status.FINALIZING, finalizing_at=timezone.now(), errors=errors)
        self._batch.refresh_from_db()

    def _goes_on(self, reader: DecryptingReader) -> bool:
        """Do one window. Returns whether another can follow at once."""
        batch = self._batch
        batch.refresh_from_db()
        if batch.status not in (Status.IN_PROGRESS, Status.CANCELLING):
            return False
        if not batch.stop_code and batch.expires_at <= timezone.now():
            self._stop(*EXPIRED)
        window, end = self._window(reader)
        if not window:
            self._lease.update(status=Status.FINALIZING, finalizing_at=timezone.now())
            batch.refresh_from_db()
            return False
        if batch.stop_code:
            outcomes, wait_s = self._refuse(reader, window)
        else:
            outcomes, wait_s = self._ask(reader, window)
        self._write_down(window, outcomes, end, wait_s)
        return not wait_s

    def _stop(self, code: str, message: str) -> None:
        """Have no further requests made. A batch that was cancelled stays that."""
        Batch.objects.filter(pk=self._batch.pk, stop_code="").update(
            stop_code=code, stop_message=message
        )
        self._batch.refresh_from_db()

    def _window(self, reader: DecryptingReader) -> tuple[list[LinePlace], tuple[int, int]]:
        """Return the next lines, those that wait first, and where the batch is behind them."""
        batch = self._batch
        window = read_places(batch.waiting_lines)
        most = STOPPED_LINES if batch.stop_code else WINDOW_LINES
        end, size = (batch.next_line, batch.next_offset), sum(place.size for place in window)
        for place in find_places(reader, batch.next_offset, batch.next_line):
            if len(window) >= most or size >= WINDOW_BYTES:
                break
            window.append(place)
            size += place.size
            end = (place.number + 1, place.offset + place.size + 1)
        return window, end

    def _refuse(
        self, reader: DecryptingReader, window: Sequence[LinePlace]
    ) -> tuple[list[Outcome], float]:
        """Say of lines why they were not asked for. Those that were asked for before the worker
        was killed have their answers still."""
        batch = self._batch
        begun = [place for place in window if place.number < batch.asked_lines]
        names = {self._name(place): place for place in begun}
        kept = KeptAnswer.objects.filter(
            workspace_id=batch.workspace_id, idempotency_key__in=list(names)
        )
        answered = {names[name] for name in kept.values_list("idempotency_key", flat=True)}
        error = WrittenError(batch.stop_code, batch.stop_message)
        outcomes = [
            Outcome(place, find_custom_id(read_raw(reader, place)), None, error)
            for place in window
            if place not in answered
        ]
        if not answered:
            return outcomes, 0.0
        found, wait_s = self._ask(reader, [place for place in window if place in answered])
        return outcomes + found, wait_s

    def _name(self, place: LinePlace) -> str:
        return f"{self._batch.public_id}:{place.number}"

    def _ask(
        self, reader: DecryptingReader, window: Sequence[LinePlace]
    ) -> tuple[list[Outcome], float]:
        """Make the requests of a window. Returns what has come of them, and for how many seconds
        the others have to wait."""
        batch = self._batch
        digest = ApiKey.objects.filter(pk=batch.key_id).values_list("digest", flat=True).first()
        if digest is None:
            self._stop(*NO_KEY)
            return [], 0.0
        asked = max([batch.asked_lines, *(place.number + 1 for place in window)])
        self._lease.update(asked_lines=asked)
        lines = [read_line(read_raw(reader, place), place, batch.endpoint) for place in window]
        secret = derive_secret(settings.SECRET_KEY)
        asker = Asker(
            batch.public_id,
            Place(
                settings.BATCH_ORIGIN,
                batch.endpoint,
                lambda: write_pass(secret, digest, batch.ip),
            ),
        )
        outcomes = self._ask_all(asker, lines)
        if asker.ending is not None:
            code, message = asker.ending
            done = batch.completed + batch.failed + len(outcomes)
            said = f"{message} The batch ended after {done} of {batch.total} requests."
            self._lease.update(errors=[*batch.errors, finding(code, said)])
            self._stop(code, message)
            return outcomes, 0.0
        return outcomes, asker.wait_s

    def _ask_all(self, asker: Asker, lines: Sequence[Line]) -> list[Outcome]:
        """Raises LeaseLost."""
        outcomes: list[Outcome] = []
        renewed = time.monotonic()
        with ThreadPoolExecutor(settings.BATCH_CONCURRENCY, "batch") as pool:
            left: set[Future[Outcome | None]] = {pool.submit(asker.ask, line) for line in lines}
            try:
                while left:
                    done, left = wait_for(left, LOOK_EVERY_S, FIRST_COMPLETED)
                    outcomes += filter(None, (each.result() for each in done))
                    if time.monotonic() - renewed > RENEW_EVERY_S:
                        self._lease.renew()
                        renewed = time.monotonic()
                    if _stopping.is_set():
                        asker.abandon()
                    elif self._is_stopped():
                        asker.stop()
            except BaseException:
                asker.abandon()
                raise
        return outcomes

    def _is_stopped(self) -> bool:
        """True once the batch was cancelled or has expired."""
        status = Batch.objects.filter(pk=self._batch.pk).values_list("status", flat=True).first()
        return status != Status.IN_PROGRESS or self._batch.expires_at <= timezone.now()

    def _write_down(
        self,
        window: Sequence[LinePlace],
        outcomes: Sequence[Outcome],
        end: tuple[int, int],
        wait_s: float,
    ) -> None:
        """Raises LeaseLost."""
        done = {each.place for each in outcomes}
        good = sum(each.is_good for each in outcomes)
        not_before = timezone.now() + timedelta(seconds=wait_s) if wait_s else None
        with transaction.atomic():
            self._lease.update(
                next_line=end[0],
                next_offset=end[1],
                waiting_lines=[list(place) for place in window if place not in done],
                completed=F("completed") + good,
                failed=F("failed") + len(outcomes) - good,
                not_before=not_before,
            )
            if outcomes:
                make_part(self._batch, outcomes).save(force_insert=True)

    def _finalize(self) -> None:
        """Write the files of results, and end. Raises LeaseLost, StorageUnavailable."""
        batch = self._batch
        for name in (OUTPUT, ERRORS):
            self._lease.renew()
            write_results(batch, name)
        status = ENDS.get(batch.stop_code, Status.COMPLETED)
        if any(error["code"] == "input_file_not_found" for error in batch.errors):
            status = Status.FAILED
        with transaction.atomic():
            self._lease.update(status=status, ended_at=timezone.now())
            BatchPart.objects.filter(batch=batch).delete()
