"""PDFs written by hand: just enough of the format for a test to say what is in them."""

from __future__ import annotations

from collections.abc import Sequence

US_LETTER = (612, 792)
Objects = Sequence[bytes]


def write_pdf(*texts: str, size: tuple[float, float] = US_LETTER, trailer: bytes = b"") -> bytes:
    """Return a document with a page for each text, which may be empty. size: in points.

    trailer: further members of the trailer.
    """
    first = 4
    kids = b" ".join(b"%d 0 R" % (first + 2 * number) for number in range(len(texts)))
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Count %d/Kids[%b]>>" % (len(texts), kids),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    for number, text in enumerate(texts):
        box = b"[0 0 %.2f %.2f]" % size
        place = b"/Resources<</Font<</F1 3 0 R>>>>/Contents %d 0 R" % (first + 2 * number + 1)
        objects.append(b"<</Type/Page/Parent 2 0 R/MediaBox%b%b>>" % (box, place))
        objects.append(stream(b"BT /F1 24 Tf 72 600 Td (%b) Tj ET" % text.encode("latin-1")))
    return assemble(objects, trailer)


def write_encrypted_pdf(text: str = "secret") -> bytes:
    """Return a document that says it is encrypted, with a password that nobody has."""
    owner_and_user = b"/O<%b>/U<%b>" % (b"00" * 32, b"11" * 32)
    encrypt = b"<</Filter/Standard/V 2/R 3/Length 128/P -4%b>>" % owner_and_user
    names = b"/ID[<%b><%b>]" % (b"22" * 16, b"22" * 16)
    return write_pdf(text, trailer=b"/Encrypt%b%b" % (encrypt, names))


def stream(content: bytes, members: bytes = b"") -> bytes:
    return b"<</Length %d%b>>stream\n%b\nendstream" % (len(content), members, content)


def assemble(objects: Objects, trailer: bytes = b"") -> bytes:
    """Return the file of these objects, the first of which is the catalogue."""
    written = bytearray(b"%PDF-1.7\n")
    offsets = []
    for number, content in enumerate(objects, 1):
        offsets.append(len(written))
        written += b"%d 0 obj\n%b\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    count = len(objects) + 1
    written += b"xref\n0 %d\n0000000000 65535 f \n%b" % (count, table)
    start = written.index(b"xref\n0 ")
    members = b"<</Size %d/Root 1 0 R%b>>" % (count, trailer)
    return bytes(written) + b"trailer\n%b\nstartxref\n%d\n%%%%EOF" % (members, start)
