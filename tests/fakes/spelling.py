"""Ways to spell a server-sent event stream: the right one, the unusual ones and the wrong ones.

Names for `script:sse=…`, which may be repeated:

crlf cr        line ends                       nospace      `data:` without the space
multiline      JSON over several data lines    comments     a comment before each event
flood          a thousand comments at once     fields       event, id and retry lines
bom            a byte order mark first         empty        events without data between
nochoices      a chunk with no choices first   unterminated the last event lacks its blank line
badjson        one event that is not JSON      badutf8      one event that is not UTF-8
dupdone        [DONE] twice                    afterdone    a chunk after [DONE]
dupfinish      the finish chunk twice          nodelta      one choice without its delta
notobject      one event that is a number
"""

from __future__ import annotations

from tests.fakes.script import Script, ScriptError

UNUSUAL = ("crlf", "cr", "nospace", "multiline", "comments", "flood", "fields", "bom", "empty")
WRONG = ("badjson", "badutf8", "nodelta", "notobject", "dupdone", "afterdone", "dupfinish")
FORMS = frozenset((*UNUSUAL, *WRONG, "nochoices", "unterminated"))
LINE_ENDS = {"crlf": b"\r\n", "cr": b"\r"}
BAD_JSON = b'{"id":"chatcmpl-x","choices":[{"index":0,"delta":{"content":"half'
BAD_UTF8 = b'{"id":"x","choices":[{"index":0,"delta":{"content":"\xff\xfe"}}]}'
NO_DELTA = b'{"id":"chatcmpl-x","object":"chat.completion.chunk","choices":[{"index":0}]}'
NO_CHOICES = b'{"id":"","object":"chat.completion.chunk","created":0,"model":"","choices":[]}'
DONE = b"[DONE]"
BOM = b"\xef\xbb\xbf"


class Speller:
    """Turns chunks of JSON into the bytes of one event stream."""

    def __init__(self, script: Script) -> None:
        self._forms = frozenset(script.sse)
        unknown = self._forms - FORMS
        if unknown:
            raise ScriptError(f"There is no such spelling: {', '.join(sorted(unknown))}.")
        self._end = next((end for form, end in LINE_ENDS.items() if form in self._forms), b"\n")
        self._planted = [script.plant.encode()] if script.plant else []
        self._label = b"data:" if "nospace" in self._forms else b"data: "

    def event(self, data: bytes, name: bytes = b"") -> bytes:
        """Return one event, with whatever the script puts around it."""
        head = b"event: " + name + self._end if name else b""
        if not self._forms:
            return head + b"data: " + data + b"\n\n"
        end, lines = self._end, [data]
        if "multiline" in self._forms:
            lines = data.replace(b',"', b',\n"').split(b"\n")
        before = b""
        if "comments" in self._forms:
            before += b": ping" + end + end
        if "fields" in self._forms:
            before += (
                (b"" if name else b"event: message" + end) + b"id: 7" + end + b"retry: 10" + end
            )
        after = b"data" + end + end + b"data:" + end + end if "empty" in self._forms else b""
        before += head
        return before + b"".join(self._label + line + end for line in lines) + end + after

    def opening(self) -> bytes:
        """Return what comes before the first event."""
        start = BOM if "bom" in self._forms else b""
        if "flood" in self._forms:
            start += (b": flood" + self._end + self._end) * 1000
        return start + (self.event(NO_CHOICES) if "nochoices" in self._forms else b"")

    def intrusion(self) -> bytes:
        """Return what comes between the first token and the second."""
        planted = {"badjson": BAD_JSON, "badutf8": BAD_UTF8, "nodelta": NO_DELTA, "notobject": b"7"}
        events = [data for form, data in planted.items() if form in self._forms]
        return b"".join(map(self.event, [*events, *self._planted]))

    def closing(self, chunk: bytes, done: bytes = DONE, name: bytes = b"") -> bytes:
        """Return the end of the stream; `chunk` is one that may wrongly follow [DONE]."""
        last = self.event(done, name)
        if "dupdone" in self._forms:
            last += self.event(done, name)
        if "afterdone" in self._forms:
            last += self.event(chunk)
        return last[: -len(self._end)] if "unterminated" in self._forms else last

    def finish(self, chunk: bytes, name: bytes = b"") -> bytes:
        return self.event(chunk, name) * (2 if "dupfinish" in self._forms else 1)
