"""PDFs that are made to do harm to whoever reads them."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from itertools import pairwise

from tests.support.pdf import assemble, stream, write_pdf

PAGE = b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R"
FONT = b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"
TEXT = stream(b"BT /F1 24 Tf 72 600 Td (read) Tj ET")


def packed(content: bytes, members: bytes = b"") -> bytes:
    return stream(zlib.compress(content), b"/Filter/FlateDecode" + members)


def document(*more: bytes, catalogue: bytes = b"", page: bytes = b"", font: bytes = FONT) -> bytes:
    """Return a document of one page. more: objects from 6 on; the others: members of theirs."""
    return assemble(
        [
            b"<</Type/Catalog/Pages 2 0 R%b>>" % catalogue,
            b"<</Type/Pages/Count 1/Kids[3 0 R]>>",
            PAGE + b"/Resources<</Font<</F1 5 0 R>>>>%b>>" % page,
            TEXT,
            font,
            *more,
        ]
    )


def circular_tables() -> bytes:
    """Its table of objects names itself as the one before it."""
    content = write_pdf("read")
    start = content.rindex(b"startxref\n") + len(b"startxref\n")
    offset = content[start:].split(b"\n")[0]
    return content.replace(b"/Root 1 0 R", b"/Root 1 0 R/Prev %b" % offset.rjust(10, b"0"))


def circular_pages() -> bytes:
    """Two nodes of its tree of pages are each other's child."""
    nodes = [b"<</Type/Pages/Count 9/Parent 3 0 R/Kids[3 0 R]>>"]
    nodes += [b"<</Type/Pages/Count 9/Parent 2 0 R/Kids[2 0 R]>>"]
    return assemble([b"<</Type/Catalog/Pages 2 0 R>>", *nodes])


def circular_outlines() -> bytes:
    items = [b"<</Type/Outlines/First 7 0 R/Last 8 0 R/Count 2>>"]
    items += [b"<</Title(a)/Parent 6 0 R/Next 8 0 R/Prev 8 0 R/First 7 0 R>>"]
    items += [b"<</Title(b)/Parent 6 0 R/Next 7 0 R/Prev 7 0 R/First 6 0 R>>"]
    return document(*items, catalogue=b"/Outlines 6 0 R")


def circular_drawing() -> bytes:
    """A form that draws itself."""
    own = b"/Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources<</XObject<</X 6 0 R>>>>"
    return document(stream(b"/X Do", own), page=b"/Resources<</XObject<</X 6 0 R>>>>")


def entity_bomb() -> bytes:
    """A form of XML whose entities multiply to a thousand million words."""
    names = "abcdefghij"
    lines = ['<!ENTITY a "boom boom boom boom">']
    for one, other in pairwise(names):
        lines.append(f'<!ENTITY {other} "{f"&{one};" * 10}">')
    return f"<?xml version='1.0'?><!DOCTYPE x [{''.join(lines)}]><x>&j;</x>".encode()


def many_objects() -> bytes:
    return document(*[b"<<>>"] * 200_000)


def unicode_ranges() -> bytes:
    """A font whose letters stand for ranges of a thousand million others."""
    line = b"<00000000> <FFFFFFFF> <0000>\n"
    ranges = b"1 begincodespacerange <00> <FFFFFFFF> endcodespacerange\n"
    ranges += b"100 beginbfrange\n%bendbfrange\n" % (line * 100) * 50
    cmap = b"/CIDInit /ProcSet findresource begin begincmap\n%bendcmap" % ranges
    font = b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/ToUnicode 6 0 R>>"
    return document(packed(cmap), font=font)


BOMBS: dict[str, Callable[[], bytes]] = {
    "tables of objects in a circle": circular_tables,
    "pages in a circle": circular_pages,
    "outlines in a circle": circular_outlines,
    "a drawing of itself": circular_drawing,
    "XFA with entities": lambda: document(
        packed(entity_bomb()), catalogue=b"/AcroForm<</XFA 6 0 R/Fields[]>>"
    ),
    "XMP with entities": lambda: document(
        packed(entity_bomb(), b"/Type/Metadata/Subtype/XML"), catalogue=b"/Metadata 6 0 R"
    ),
    "ranges of letters": unicode_ranges,
    "200,000 objects": many_objects,
    "brackets": lambda: document(b"[" * 500_000),
    "a page of 10 km": lambda: write_pdf("read", size=(28_346_456, 28_346_456)),
}
