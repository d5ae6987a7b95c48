"""What a file is. Its bytes say so; the type that a caller declares only tells texts apart."""

from __future__ import annotations

from collections.abc import Sequence

from gateway.core.errors import InvalidFile
from gateway.media.picture_size import size_of
from gateway.media.sounds import sniff_sound

# Providers take a fraction of it; whoever decodes more than it is made to spend memory.
MAX_PIXELS = 100_000_000
PDF = "application/pdf"
TEXT = "text/plain"
_MAGIC: Sequence[tuple[bytes, str]] = (
    (b"%PDF-", PDF),
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)
# What cameras and scanners write and no provider takes, as errors name it.
_OTHER_PICTURES: Sequence[tuple[int, bytes, str]] = (
    (0, b"BM", "a BMP"),
    (0, b"II*\0", "a TIFF"),
    (0, b"MM\0*", "a TIFF"),
    (4, b"ftyphei", "a HEIC"),
    (4, b"ftyphev", "a HEIC"),
    (4, b"ftypmif1", "a HEIC"),
    (4, b"ftypavif", "an AVIF"),
    (0, b"<svg", "an SVG"),
)
_TEXTS = frozenset({"application/json", "application/jsonl", "application/x-ndjson"})
_BY_ENDING = {
    "pdf": PDF,
    "png": "image/png",
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "gif": "image/gif",
    "webp": "image/webp",
    "json": "application/json",
    "jsonl": "application/jsonl",
    "wav": "audio/wav",
    "mp3": "audio/mpeg",
    "webm": "video/webm",
    "csv": "text/csv",
    "txt": TEXT,
    "md": "text/markdown",
}


def find_picture_type(content: bytes, param: str) -> str:
    """Return the media type of a picture, by its bytes alone. Raises InvalidFile for what is none,
    and for a picture of more pixels than are taken."""
    found = sniff(content)
    if not found.startswith("image/"):
        raise InvalidFile(_name_picture(content), param=param)
    check_pixels(content, param)
    return found


def find_file_type(content: bytes, declared: str, filename: str, param: str) -> str:
    """Return the media type of a file. declared: as its caller or a data: URL says, or empty.

    Bytes decide what kind of file it is and which picture; a text may be any text that it is
    declared to be. Raises InvalidFile for what is not taken, or not of the declared kind at all.
    """
    found = sniff(content)
    if not found or found.startswith(("audio/", "video/")):
        taken = "PDF, PNG, JPEG, WebP, GIF, and text in UTF-8"
        raise InvalidFile(f"The file type is not supported. Supported: {taken}.", param=param)
    said = declared_kind(declared, filename)
    if kind_of(said) not in ("", kind_of(found)):
        raise InvalidFile(f"The file is {found}, not {said[:64]}.", param=param)
    if found == TEXT:
        return said if said.startswith("text/") or said == "application/json" else TEXT
    if found != PDF:
        check_pixels(content, param)
    return found


def find_other_type(content: bytes) -> str:
    """Return the type of a picture or a document that came where a recording should be, else ""."""
    found = sniff(content[:64])
    return found if found.startswith("image/") or found == PDF else ""


def check_pixels(content: bytes, param: str) -> None:
    """Raise InvalidFile for a picture of more pixels than are taken. Nothing is decoded."""
    width, height = size_of(content)
    if width * height > MAX_PIXELS:
        limit = f"{MAX_PIXELS // 1_000_000} million pixels"
        raise InvalidFile(f"The image has more than {limit}.", param=param)


def _name_picture(content: bytes) -> str:
    """Return what is said of a picture that is not taken."""
    for place, magic, name in _OTHER_PICTURES:
        if content.startswith(magic, place):
            return f"The image is {name}. Supported: PNG, JPEG, WebP and GIF."
    return "The image is not a PNG, JPEG, WebP or GIF."


def declared_kind(declared: str, filename: str) -> str:
    """Return the media type that a file says it has: by its declared type, else by its name."""
    said = declared.partition(";")[0].strip().lower()
    if kind_of(said):
        return said
    # Odd types say nothing, application/octet-stream among them.
    return _BY_ENDING.get(filename.rpartition(".")[2].lower(), "")


def kind_of(media_type: str) -> str:
    """Return which of the kinds that are taken here a type is of, empty for none."""
    if media_type == PDF:
        return "pdf"
    if media_type.startswith("text/") or media_type in _TEXTS:
        return "text"
    kind = media_type.partition("/")[0]
    # The same container has sounds and films.
    return {"image": "image", "audio": "audio", "video": "audio"}.get(kind, "")


def sniff(content: bytes) -> str:
    """Return the media type that the bytes show, text/plain for text, else ""."""
    found = sniff_head(content)
    return found or (TEXT if content and _is_text(content) else "")


def sniff_head(head: bytes) -> str:
    """Return the media type that the first bytes show, "" for text as for what is unknown."""
    for magic, kind in _MAGIC:
        if head.startswith(magic):
            return kind
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "image/webp"
    return sniff_sound(head) or ""


def _is_text(content: bytes) -> bool:
    if b"\0" in content:
        return False
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
