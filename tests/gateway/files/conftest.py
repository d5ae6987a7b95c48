"""The processes that read PDFs end with each test."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from tests.support.pdf_readers import close_readers


@pytest.fixture(autouse=True)
def end_readers() -> Iterator[None]:
    yield
    asyncio.run(close_readers())
