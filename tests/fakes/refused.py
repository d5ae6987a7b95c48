"""A refusal of a provider that speaks OpenAI's dialect."""

from __future__ import annotations


class Refused(Exception):
    """The provider does not take this body."""
