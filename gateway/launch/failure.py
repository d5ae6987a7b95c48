"""Why an installation cannot start."""

from __future__ import annotations


class CannotStart(Exception):
    """One sentence for the person at the terminal: what is wrong, and what to do about it."""
