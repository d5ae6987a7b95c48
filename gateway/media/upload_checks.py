"""What an uploaded file is, found while it passes: its type by its bytes, the lines of JSONL."""

from __future__ import annotations

import codecs
import re

import msgspec

from gateway.core.errors import InvalidFile, RequestError
from gateway.core.file_errors import UnsupportedFileType
from gateway.media.media_types import TEXT, declared_kind, kind_of, sniff_head

MAX_LINES = 50_000
MAX_LINE_BYTES = 8 * 1024 * 1024
HEAD_BYTES = 4096
JSONL = "application/jsonl"
TAKEN = "PDF, PNG, JPEG, WebP, GIF, audio, and text in UTF-8"
BOM = b"\xef\xbb\xbf"
# Names that Windows takes for devices.
DEVICES = re.compile(r"(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\..*)?", re.I)
_read_object = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


class TypeCheck:
    """Finds the media type of a file from all of its bytes, piece by piece."""

    def __init__(self) -> None:
        self._head = bytearray()
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._is_text = True

    def feed(self, piece: bytes) -> None:
        if len(self._head) < HEAD_BYTES:
            self._head += piece[: HEAD_BYTES - len(self._head)]
        if self._is_text:
            try:
                self._decoder.decode(piece)
                self._is_text = b"\0" not in piece
            except UnicodeDecodeError:
                self._is_text = False

    def finish(self, declared: str, filename: str, param: str = "file") -> str:
        """Return the media type. declared: as the upload says.

        Raises InvalidFile for an empty file, and one that is of another kind than it says;
        UnsupportedFileType.
        """
        if not self._head:
            raise InvalidFile("The file is empty.", param=param)
        try:
            self._decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            self._is_text = False
        found = sniff_head(bytes(self._head)) or (TEXT if self._is_text else "")
        if not found:
            raise UnsupportedFileType(
                f"The type of the file is not supported. Supported: {TAKEN}.", param=param
            )
        said = declared_kind(declared, filename)
        if kind_of(said) not in ("", kind_of(found)):
            raise InvalidFile(f"The file is {found}, not {said[:64]}.", param=param)
        return said if found == TEXT and said else found


class LineCheck:
    """Checks that a file is JSONL: UTF-8, an object a line. Notes the first fault, and looks no
    further: whether the file has to be JSONL may be known only at its end.

    Lines are taken one by one: as a list, a million of them would be fifty times as long.
    """

    def __init__(self) -> None:
        self._rest = bytearray()
        self._lines = 0
        # What is wrong with the first line at fault.
        self._faults: list[str] = []

    def feed(self, piece: bytes) -> None:
        if self._faults:
            return
        self._rest += piece
        if b"\n" in piece:
            self._check_whole_lines()
        elif len(self._rest) > MAX_LINE_BYTES:
            self._note(self._lines + 1, f"is longer than {MAX_LINE_BYTES // 2**20} MB")
        if self._faults:
            self._rest = bytearray()

    def refuse_faults(self, param: str = "file") -> None:
        """Raise RequestError that names the line at fault, if one has been found so far."""
        if self._faults:
            raise RequestError(f"The file is not valid JSONL: {self._faults[0]}.", param=param)

    def finish(self, param: str = "file") -> int:
        """Return how many lines there are. Raises RequestError that names the line at fault."""
        if self._rest and not self._faults:
            self._check(bytes(self._rest))
        if not self._faults and not self._lines:
            self._note(1, "is missing")
        self.refuse_faults(param)
        return self._lines

    def _check_whole_lines(self) -> None:
        text, begin = bytes(self._rest), 0
        while not self._faults and (end := text.find(b"\n", begin)) >= 0:
            self._check(text[begin:end])
            begin = end + 1
        self._rest = bytearray(text[begin:])

    def _check(self, line: bytes) -> None:
        self._lines += 1
        if self._lines > MAX_LINES:
            self._note(self._lines, f"is one too many: a batch has at most {MAX_LINES} lines")
        elif len(line) > MAX_LINE_BYTES:
            self._note(self._lines, f"is longer than {MAX_LINE_BYTES // 2**20} MB")
        elif line.startswith(BOM):
            self._note(self._lines, "begins with a byte order mark")
        else:
            try:
                line.decode()
                _read_object(line)
            except UnicodeDecodeError:
                self._note(self._lines, "is not UTF-8")
            except (msgspec.DecodeError, RecursionError):
                self._note(self._lines, "is not a JSON object")

    def _note(self, number: int, reason: str) -> None:
        self._faults.append(f"line {number} {reason}")


def clean_filename(name: str) -> str:
    """Return a name to show: the last part of a path, without control and format characters, and
    nothing that a file manager hides or takes for a device."""
    last = re.split(r"[/\\]", name)[-1]
    shown = "".join(char for char in last if char.isprintable()).strip(" .")
    if DEVICES.fullmatch(shown):
        shown = f"_{shown}"
    return shown[:255].strip(" .") or "file"
