"""The book under any history, and the bugs that the same histories must find."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.money.machine import MoneyMachine

pytestmark = pytest.mark.django_db(transaction=True)


def run_machine(*, histories: int, steps: int, phases: tuple[Phase, ...]) -> None:
    run_state_machine_as_test(
        MoneyMachine,
        settings=settings(
            max_examples=histories,
            stateful_step_count=steps,
            deadline=None,
            database=None,
            derandomize=True,
            phases=phases,
            suppress_health_check=list(HealthCheck),
            print_blob=False,
        ),
    )


def test_no_history_breaks_the_book() -> None:
    run_machine(histories=40, steps=35, phases=(Phase.generate,))
