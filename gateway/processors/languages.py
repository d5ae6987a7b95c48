"""How callers name languages."""

from __future__ import annotations


def main_language(tag: str) -> str:
    """Return the language of a tag, in lower case: "en" for "en-US" and "en_GB"."""
    return tag.strip().lower().replace("_", "-").partition("-")[0]
