"""The process that reads one PDF: a program of its own, run by gateway.files.pdf.

    python -I pdf_worker.py MODE < document.pdf        MODE: see (text and pictures) or read (text)

It trusts nothing in the document: before the first byte of it is looked at, it gives up the right
to open files and sockets, to use much memory and to run for long. It writes MessagePack: a list of
pages, or one of the words of FAULTS. What it is killed for ends in no answer at all.
Imports nothing of the gateway, which must not be within reach of what goes wrong here.
"""

from __future__ import annotations

import base64
import codecs
import ctypes
import io
import os
import resource
import signal
import sys
from unicodedata import category

import msgspec
import pypdfium2
import pypdfium2.raw as pdfium

MAX_PAGES = 100
MAX_TEXT_CHARS = 2_000_000
MAX_PICTURE_CHARS = 50 * 1024 * 1024
DOTS_PER_INCH = 150
MAX_EDGE_PIXELS = 2000
POINTS_PER_INCH = 72
JPEG_QUALITY = 80
MEMORY_BYTES = 768 * 1024 * 1024
RUN_S = 60
# Control characters, halves of pairs, and what is no character: a hyphen at the end of a line.
NO_TEXT = frozenset({"Cc", "Cs", "Cn"})
FAULTS = ("broken", "encrypted", "pages", "large")
Pages = list[tuple[str, str]]


class Fault(Exception):
    """The document cannot be taken; the argument is one of FAULTS."""


def renounce() -> None:
    """Give up what reading a document does not need."""
    # Everything is used once: what is imported late, is imported before no file can be opened.
    blank = pypdfium2.PdfDocument.new().new_page(72, 72)
    read_text(blank)
    draw(blank)
    codecs.lookup("utf-16-le")
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (RUN_S, RUN_S))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
    # No number above these: no file, no socket.
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))
    signal.alarm(RUN_S)


def read_document(content: bytes, *, with_pictures: bool) -> Pages:
    """Return every page. Raises Fault."""
    try:
        document = pypdfium2.PdfDocument(content)
    except pypdfium2.PdfiumError:
        is_locked = pdfium.FPDF_GetLastError() == pdfium.FPDF_ERR_PASSWORD
        raise Fault("encrypted" if is_locked else "broken") from None
    if pdfium.FPDF_GetSecurityHandlerRevision(document) != -1:
        raise Fault("encrypted")
    if not 0 < len(document) <= MAX_PAGES:
        raise Fault("pages" if len(document) else "broken")
    pages: Pages = []
    text_chars = picture_chars = 0
    for number in range(len(document)):
        page = document[number]
        text = read_text(page)
        picture = draw(page) if with_pictures else ""
        page.close()
        text_chars += len(text)
        picture_chars += len(picture)
        if text_chars > MAX_TEXT_CHARS or picture_chars > MAX_PICTURE_CHARS:
            raise Fault("large")
        pages.append((text, picture))
    return pages


def read_text(page: pypdfium2.PdfPage) -> str:
    """Return what is written on a page, without what no text has."""
    textpage = page.get_textpage()
    if textpage.count_chars() > MAX_TEXT_CHARS:
        raise Fault("large")
    text = textpage.get_text_range().replace("\r\n", "\n")
    textpage.close()
    return "".join(char for char in text if char in "\n\t" or category(char) not in NO_TEXT).strip()


def draw(page: pypdfium2.PdfPage) -> str:
    """Return the page as a JPEG in base64, its longer edge within bounds whatever its size."""
    longer = max(page.get_size())
    if not longer > 0:
        raise Fault("broken")
    scale = min(DOTS_PER_INCH / POINTS_PER_INCH, MAX_EDGE_PIXELS / longer)
    image = page.render(scale=scale, may_draw_forms=False).to_pil()
    image.thumbnail((MAX_EDGE_PIXELS, MAX_EDGE_PIXELS))  # sizes are rounded up
    written = io.BytesIO()
    image.convert("RGB").save(written, "JPEG", quality=JPEG_QUALITY)
    return base64.b64encode(written.getvalue()).decode()


def main() -> None:
    [mode] = sys.argv[1:]
    renounce()
    answer: Pages | str
    try:
        answer = read_document(sys.stdin.buffer.read(), with_pictures=mode == "see")
    except Fault as fault:
        answer = str(fault)
    except (pypdfium2.PdfiumError, ctypes.ArgumentError, ValueError, OSError):
        answer = "broken"
    except MemoryError:
        answer = "large"
    sys.stdout.buffer.write(msgspec.msgpack.encode(answer))
    sys.stdout.buffer.flush()
    os._exit(0)  # nothing is left to be tidied up, and tidying up may trip over what was read


if __name__ == "__main__":
    main()
