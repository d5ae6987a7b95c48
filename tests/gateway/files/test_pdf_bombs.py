"""PDFs that are made to do harm: each is read within bounds or refused, and the next is read."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

import pytest

from gateway.core.errors import GatewayError, InvalidFile, RateLimited
from tests.support.pdf import assemble, write_encrypted_pdf, write_pdf
from tests.support.pdf_bombs import BOMBS, FONT, PAGE, TEXT, circular_pages, many_objects
from tests.support.pdf_readers import new_reader


@pytest.mark.parametrize("write", BOMBS.values(), ids=BOMBS)
async def test_a_document_that_would_do_harm_is_read_within_bounds_or_refused(
    write: Callable[[], bytes],
) -> None:
    reader = new_reader()

    for with_pictures in (False, True):
        with suppress(InvalidFile):
            pages = await reader.read(write(), with_pictures=with_pictures, owner="a", param="p")
            assert [len(page.text) < 1_000 for page in pages] == [True]

    [page] = await reader.read(write_pdf("next"), with_pictures=True, owner="a", param="p")
    assert page.text == "next"


async def test_a_hundred_thousand_pages_are_refused_by_their_count() -> None:
    kids = b"5 0 R " * 100_000
    many = assemble(
        [
            b"<</Type/Catalog/Pages 2 0 R>>",
            b"<</Type/Pages/Count 100000/Kids[%b]>>" % kids,
            FONT,
            TEXT,
            PAGE + b">>",
        ]
    )

    with pytest.raises(InvalidFile) as caught:
        await new_reader().read(many, with_pictures=True, owner="a", param="p")

    assert caught.value.message == "The PDF has more than 100 pages."


async def test_a_hundred_at_once_wait_for_their_turn_or_are_told_to_come_back() -> None:
    reader = new_reader()
    bombs = [circular_pages(), write_encrypted_pdf(), many_objects(), write_pdf("good")]

    async def read(number: int) -> str:
        content = bombs[number % len(bombs)] + b"\n%%%d" % number
        try:
            await reader.read(content, with_pictures=False, owner=f"o{number % 10}", param="p")
        except GatewayError as refused:
            return refused.code
        return "read"

    told = await asyncio.gather(*map(read, range(100)))

    assert set(told) <= {"read", InvalidFile.code, RateLimited.code}
    assert {"read", InvalidFile.code, RateLimited.code} <= set(told)
    assert await read(3) == "read"
