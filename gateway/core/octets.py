"""Single bytes as numbers, for searches in bytes that every call makes.

`b"%" in data` takes ten times as long as `PERCENT in data`: CPython first takes the bytes for a
number, and makes and drops a TypeError. For the same reason longer ones are looked for by `find`.
"""

from __future__ import annotations

TAB = ord("\t")
LINE_FEED = ord("\n")
CARRIAGE_RETURN = ord("\r")
HASH_SIGN = ord("#")
PERCENT = ord("%")
BACKSLASH = ord("\\")
