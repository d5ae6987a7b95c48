"""What the writer's thread is asked to do (gateway.stores.writer): draws, returns, questions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from queue import Empty, SimpleQueue

from gateway.stores.wallet_client import Draw, GiveBack

# A workspace id asks for the money that other processes have idle; None only wakes the thread.
Request = Draw | GiveBack | str | None
Question = Callable[[int], None]


class WriterInbox:
    """put, call_back, wake and ask are for any thread, the rest for the writer's."""

    def __init__(self) -> None:
        self._requests: SimpleQueue[Request] = SimpleQueue()
        self._questions: SimpleQueue[tuple[int, Question]] = SimpleQueue()
        self._first: Request = None
        self._postponed: list[GiveBack] = []

    def put(self, request: Draw | GiveBack) -> None:
        self._requests.put(request)

    def call_back(self, workspace_id: str) -> None:
        """Ask other processes for what they have idle of this workspace's money."""
        self._requests.put(workspace_id)

    def wake(self) -> None:
        """Let the thread look at once at what there is to do."""
        self._requests.put(None)

    def ask(self, after: int, question: Question) -> None:
        """Ask a question that is run once so many records are posted."""
        self._questions.put((after, question))
        self.wake()

    def wait(self, timeout_s: float) -> None:
        """Return when there is something to do, or time is up."""
        with suppress(Empty):
            self._first = self._requests.get(timeout=timeout_s)

    def take(self) -> tuple[list[Draw], list[GiveBack], list[str]]:
        """Return all that was asked for: draws, returns, and workspaces to call back for."""
        draws: list[Draw] = []
        returns, self._postponed = self._postponed, []
        recalls: list[str] = []
        request, self._first = self._first, None
        while True:
            if isinstance(request, Draw):
                draws.append(request)
            elif isinstance(request, GiveBack):
                returns.append(request)
            elif request is not None:
                recalls.append(request)
            try:
                request = self._requests.get_nowait()
            except Empty:
                return draws, returns, recalls

    def postpone(self, returns: Iterable[GiveBack]) -> None:
        """Have returns that were not made among what is taken next."""
        self._postponed = list(returns)

    @property
    def has_questions(self) -> bool:
        return not self._questions.empty()

    def next_question(self) -> tuple[int, Question]:
        """Return a question, and after how many records to run it."""
        return self._questions.get_nowait()
