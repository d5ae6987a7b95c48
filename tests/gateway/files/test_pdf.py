"""PDFs read in a process of their own: what comes back, and what cannot be done to us."""

from __future__ import annotations

import asyncio
import base64
import io
import os
import zlib
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest
from PIL import Image

from gateway.core.child_process import NICENESS
from gateway.core.errors import InvalidFile, Overloaded, Quarantined, RateLimited
from gateway.core.files import Page
from gateway.files import pdf
from gateway.files.pdf import PdfReader
from tests.support.pdf import assemble, stream, write_encrypted_pdf, write_pdf
from tests.support.pdf_readers import close_readers, new_reader
from tests.support.waiting import async_wait_until

MB = 2**20


async def read(
    content: bytes, *, with_pictures: bool = True, reader: PdfReader | None = None, owner: str = "a"
) -> Sequence[Page]:
    reader = reader or new_reader()
    return await reader.read(content, with_pictures=with_pictures, owner=owner, param="p")


async def refusal(content: bytes, reader: PdfReader | None = None) -> str:
    with pytest.raises(InvalidFile) as caught:
        await read(content, reader=reader)
    assert (caught.value.code, caught.value.param) == ("invalid_file", "p")
    return caught.value.message


def size_of(page: Page) -> tuple[int, int]:
    picture = Image.open(io.BytesIO(base64.b64decode(page.picture)))
    assert picture.format == "JPEG"
    return picture.size


def page_of(content: bytes, members: bytes = b"") -> bytes:
    """Return a document of one page that draws this."""
    return assemble(
        [
            b"<</Type/Catalog/Pages 2 0 R>>",
            b"<</Type/Pages/Count 1/Kids[3 0 R]>>",
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R"
            b"/Resources<</Font<</F1 5 0 R>>>>>>",
            stream(content, members),
            b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
        ]
    )


async def test_every_page_comes_with_its_text_and_its_picture() -> None:
    pages = await read(write_pdf("Hello there", "", "Third"))

    assert [page.text for page in pages] == ["Hello there", "", "Third"]
    for page in pages:  # letter, at 150 pixels to the inch
        assert size_of(page) == pytest.approx((1275, 1650), abs=1)


async def test_no_picture_is_drawn_for_a_model_that_sees_none() -> None:
    pages = await read(write_pdf("Hello there", "Second"), with_pictures=False)

    assert pages == [Page("Hello there", ""), Page("Second", "")]


@pytest.mark.parametrize(
    ("points", "pixels"),
    [
        ((612, 792), (1275, 1650)),
        ((1440, 720), (2000, 1000)),
        ((14_400, 14_400), (2000, 2000)),
        ((10_000_000, 10_000_000), (2000, 2000)),
        ((2, 2_000_000), (1, 2000)),
    ],
)
async def test_no_edge_is_longer_than_2000_pixels_whatever_the_page_says(
    points: tuple[int, int], pixels: tuple[int, int]
) -> None:
    [page] = await read(write_pdf("x", size=points))

    assert max(size_of(page)) <= 2000
    assert size_of(page) == pytest.approx(pixels, abs=1)


async def test_a_hundred_pages_are_taken_and_not_one_more() -> None:
    assert len(await read(write_pdf(*["x"] * 100), with_pictures=False)) == 100
    assert await refusal(write_pdf(*["x"] * 101)) == "The PDF has more than 100 pages."


async def test_a_tree_that_promises_pages_it_has_not_is_broken() -> None:
    liar = write_pdf("x").replace(b"/Count 1/", b"/Count 9/")
    endless = write_pdf("x").replace(b"/Kids[4 0 R]", b"/Kids[2 0 R]")

    for content in (liar, endless):
        assert await refusal(content) in ("The PDF is broken.", pdf.UNREADABLE)


@pytest.mark.parametrize(
    "content",
    [
        b"%PDF-1.7\n1 0 obj\n",
        b"%PDF-",
        b"%PDF-1.7\n" + b"\0" * 1000,
        b"%PDF-1.7\n" + b"[" * 100_000,
        b"%PDF-1.7\n" + b"<<" * 100_000,
        b"PK\x03\x04 a zip",
        write_pdf("x")[:200],
        write_pdf(),
    ],
    ids=lambda content: repr(content[:12]),
)
async def test_what_is_broken_is_invalid(content: bytes) -> None:
    assert await refusal(content) in ("The PDF is broken.", pdf.UNREADABLE)


async def test_what_is_encrypted_is_invalid() -> None:
    assert await refusal(write_encrypted_pdf()) == "The PDF is encrypted."


async def test_a_stream_that_unpacks_to_half_a_gigabyte_harms_nobody() -> None:
    packing = zlib.compressobj(1)
    packed = b"".join(packing.compress(bytes(MB)) for _ in range(512)) + packing.flush()
    bomb = page_of(zlib.compress(packed), b"/Filter[/FlateDecode/FlateDecode]")
    reader = new_reader()

    with suppress(InvalidFile):
        assert len(await read(bomb, reader=reader)) == 1

    assert len(await read(write_pdf("still here"), reader=reader)) == 1


async def test_more_text_than_a_prompt_can_be_is_refused() -> None:
    words = b"BT /F1 1 Tf " + b"(%b) Tj " % (b"x" * 1000) * 2_100 + b"ET"
    told = await refusal(page_of(zlib.compress(words), b"/Filter/FlateDecode"))

    assert told in (pdf.FAULTS["large"], pdf.UNREADABLE)


async def test_a_document_of_more_than_50_mb_is_not_even_read() -> None:
    assert await refusal(b"%PDF-" + bytes(50 * MB)) == "The PDF is larger than 50 MB."


async def test_a_large_document_is_read() -> None:
    [page] = await read(write_pdf("large") + b"\n%" + os.urandom(40 * MB))

    assert page.text == "large"


async def test_actions_scripts_and_files_inside_are_left_alone() -> None:
    wishes = b"/OpenAction<</S/JavaScript/JS(app.alert(1))>>/AA<</WC<</S/Launch/F(/bin/sh)>>>>"
    wishes += b"/URI<</Base(http://127.0.0.2/)>>"
    document = write_pdf("quiet").replace(b"/Type/Catalog", b"/Type/Catalog" + wishes)

    [page] = await read(document)

    assert page.text == "quiet"


async def test_a_document_that_takes_too_long_is_given_up(tmp_path: Path) -> None:
    worker = tmp_path / "worker.py"
    worker.write_text("import time\ntime.sleep(600)\n")

    told = await refusal(write_pdf("x"), new_reader(worker=worker, convert_s=0.5))

    assert told == "The PDF could not be converted within 0.5 s."


def endless_worker(folder: Path) -> Path:
    """Return a worker that never says anything, and notes its number in its folder."""
    worker = folder / "worker.py"
    note = f"open({str(folder / 'number')!r}, 'w').write(str(os.getpid()) + ' ')"
    worker.write_text(f"import os, time\n{note}\ntime.sleep(600)\n")
    return worker


async def running_process(folder: Path) -> int:
    """Return the number of the endless worker, once it runs."""
    number = folder / "number"

    async def is_running() -> bool:
        return number.exists() and number.read_text().endswith(" ")

    await async_wait_until(is_running, what="the process to start")
    return int(number.read_text())


async def wait_until_gone(pid: int) -> None:
    async def is_gone() -> bool:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        return False

    await async_wait_until(is_gone, what="the process to be gone")


async def test_nobody_is_left_behind_when_a_caller_has_left(tmp_path: Path) -> None:
    reader = new_reader(worker=endless_worker(tmp_path))
    reading = asyncio.ensure_future(read(write_pdf("x"), reader=reader))
    pid = await running_process(tmp_path)

    reading.cancel()
    await asyncio.gather(reading, return_exceptions=True)

    await wait_until_gone(pid)


async def test_nobody_is_left_behind_when_the_server_has_ended(tmp_path: Path) -> None:
    reading = asyncio.ensure_future(
        read(write_pdf("x"), reader=new_reader(worker=endless_worker(tmp_path)))
    )
    pid = await running_process(tmp_path)

    await close_readers()

    await wait_until_gone(pid)
    with pytest.raises((InvalidFile, Overloaded)):
        await reading


async def test_a_process_that_starts_readers_is_started_anew(tmp_path: Path) -> None:
    worker = tmp_path / "worker.py"
    worker.write_text("import os\nos.kill(os.getppid(), 9)\n")
    reader = new_reader(worker=worker)

    with pytest.raises(Overloaded) as caught:
        await read(write_pdf("x"), reader=reader)
    worker.write_text(pdf.WORKER.read_text())

    async def is_read() -> bool:
        try:
            [page] = await read(write_pdf("x"), reader=reader)
        except Overloaded:  # it is not quite gone
            return False
        return page.text == "x"

    assert caught.value.retry_after_s is not None
    await async_wait_until(is_read, what="the PDF to be read")


async def test_readers_have_a_lower_priority(tmp_path: Path) -> None:
    reader = new_reader(worker=endless_worker(tmp_path))
    reading = asyncio.ensure_future(read(write_pdf("x"), reader=reader))

    pid = await running_process(tmp_path)

    assert os.getpriority(os.PRIO_PROCESS, pid) == min(os.nice(0) + NICENESS, 19)
    # In a session of their own it would count for nothing.
    assert os.getsid(pid) == os.getsid(0)
    reading.cancel()
    await asyncio.gather(reading, return_exceptions=True)


@pytest.mark.parametrize(
    "deed",
    [
        "os.kill(os.getpid(), 9)",
        "sys.exit(3)",
        "sys.stdout.write('no MessagePack')",
        "sys.stdout.buffer.write(b'\\x91\\x93')",
        "os.write(1, b'\\xa3odd')",
        "sys.stdin.close(); os.close(0)",
        "sys.stdin.buffer.read(); [os.write(1, bytes(2**20)) for _ in range(100)]",
    ],
)
async def test_a_process_that_goes_wrong_is_one_bad_file(tmp_path: Path, deed: str) -> None:
    worker = tmp_path / "worker.py"
    worker.write_text(f"import os, sys\n{deed}\n")

    assert (
        await refusal(write_pdf("x") + bytes(5 * MB), new_reader(worker=worker)) == pdf.UNREADABLE
    )


async def test_a_document_that_broke_its_process_is_not_read_again(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    worker = tmp_path / "worker.py"
    worker.write_text(f"import os\nopen({str(runs)!r}, 'a').write('x')\nos.kill(os.getpid(), 11)\n")
    reader = new_reader(worker=worker)

    assert await refusal(write_pdf("x"), reader) == pdf.UNREADABLE
    again = await asyncio.gather(
        *(read(write_pdf("x"), reader=reader) for _ in range(20)), return_exceptions=True
    )

    assert {type(error) for error in again} == {Quarantined}
    assert runs.read_text() == "x"
    # Another document, or the same of somebody else, has nothing to do with it.
    assert await refusal(write_pdf("y"), reader) == pdf.UNREADABLE
    with pytest.raises(InvalidFile):
        await read(write_pdf("x"), reader=reader, owner="somebody else")


async def test_a_document_that_hung_its_process_is_not_read_again(tmp_path: Path) -> None:
    worker = tmp_path / "worker.py"
    worker.write_text("import time\ntime.sleep(600)\n")
    reader = new_reader(worker=worker, convert_s=0.1)

    assert "within" in await refusal(write_pdf("x"), reader)
    with pytest.raises(Quarantined):
        await read(write_pdf("x"), reader=reader)


async def test_the_process_knows_nothing_of_ours_and_can_open_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOLLHOUSE_SECRET_KEY", "hush")
    worker = tmp_path / "worker.py"
    worker.write_text(
        f"""
import os, runpy, socket, sys
sys.argv[1] = "see"
names = runpy.run_path({str(pdf.WORKER)!r}, run_name="worker")
names["renounce"]()
opened = []
for deed in (lambda: open("/etc/hostname"), lambda: socket.socket(), lambda: os.pipe()):
    try:
        deed()
        opened.append("opened")
    except OSError:
        opened.append("refused")
secrets = [name for name in os.environ if "TOLLHOUSE" in name]
gateway = [name for name in sys.modules if name.split(".")[0] in ("gateway", "django")]
told = " ".join(opened + secrets + gateway)
sys.stdout.buffer.write(names["msgspec"].msgpack.encode([[told, ""]]))
"""
    )

    [page] = await read(write_pdf("x"), reader=new_reader(worker=worker))

    assert page.text == "refused refused refused"


async def test_a_document_is_read_once_a_day_for_each_owner(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    worker = tmp_path / "worker.py"
    note = f"open({str(runs)!r}, 'a').write('x')"
    answer = r"sys.stdout.buffer.write(b'\x91\x92\xa1t\xa0')"
    worker.write_text(f"import sys\n{note}\n{answer}\n")
    reader = new_reader(worker=worker)

    for owner in ("a", "a", "b", "a"):
        assert await read(write_pdf("x"), reader=reader, owner=owner) == [Page("t", "")]
    await read(write_pdf("x"), reader=reader, with_pictures=False)
    await read(write_pdf("y"), reader=reader)

    assert runs.read_text() == "xxxx"


async def test_no_more_documents_wait_than_there_is_room_for(tmp_path: Path) -> None:
    worker = tmp_path / "worker.py"
    worker.write_text("import time\ntime.sleep(600)\n")
    reader = new_reader(worker=worker)
    reads: list[asyncio.Future[Sequence[Page]]] = []

    async def fill(owner: str) -> None:
        """Let as many of one owner's documents wait as may."""
        for number in range(pdf.MAX_PRESENT_OF_ONE):
            work = read(write_pdf(str(number)), reader=reader, owner=owner)
            reads.append(asyncio.ensure_future(work))
        await async_wait_until(is_full, what="every place to be taken")
        with pytest.raises(RateLimited):
            await read(write_pdf("one more"), reader=reader, owner=owner)

    async def is_full() -> bool:
        return reader._present.total() == len(reads)

    await fill("a")
    await fill("b")
    with pytest.raises(RateLimited):
        await read(write_pdf("one more"), reader=reader, owner="c")
    for one in reads:
        one.cancel()
    await asyncio.gather(*reads, return_exceptions=True)

    assert not reader._present
