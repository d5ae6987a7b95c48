"""Short texts that people type: names and labels, one line each, safe to show anywhere."""

from __future__ import annotations

import unicodedata

from django.core.exceptions import ValidationError

# Control, surrogate, unassigned and separator characters: none of them can be seen, all of them
# can confuse a log line or a page.
_UNSEEN = frozenset({"Cc", "Cs", "Cn", "Co", "Zl", "Zp"})
# Marks that turn the direction of what follows: they make one name look like another.
_TURNING = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def read_line(text: object, *, field: str, max_chars: int) -> str:
    """Return the text trimmed.

    Raises ValidationError for `field` unless it is 1 to max_chars visible characters.
    """
    if not isinstance(text, str):
        raise ValidationError({field: "Enter text."})
    line = text.strip()
    if not line:
        raise ValidationError({field: "This field cannot be empty."})
    if len(line) > max_chars:
        raise ValidationError({field: f"Enter at most {max_chars} characters (now {len(line)})."})
    if not is_visible(line):
        raise ValidationError({field: "Control characters are not allowed."})
    return line


def is_visible(text: str) -> bool:
    """True when no character hides, breaks the line or turns its direction."""
    return not any(char in _TURNING or unicodedata.category(char) in _UNSEEN for char in text)
