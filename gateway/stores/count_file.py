"""The file of a home with what limit rules have counted, for processes that count in memory."""

from __future__ import annotations

import logging
from pathlib import Path

import msgspec

from gateway.admission.kept_counts import Kept

logger = logging.getLogger(__name__)

NAME = "limit-counters.json"


class CountFile:
    """Written as a whole, and not when nothing has changed."""

    def __init__(self, home: Path) -> None:
        self._path = home / NAME
        self._content = b"{}"

    def load(self) -> Kept:
        """Return what was kept; nothing, with a warning in the log, where that cannot be read."""
        try:
            self._content = self._path.read_bytes()
            return msgspec.json.decode(self._content, type=Kept)
        except FileNotFoundError:
            return {}
        except (OSError, msgspec.DecodeError) as error:
            logger.warning("Limits count from 0: %s cannot be read (%s).", self._path, error)
            return {}

    def save(self, kept: Kept) -> None:
        """What cannot be written is in the log, and tried again the next time."""
        content = msgspec.json.encode(kept)
        if content == self._content:
            return
        draft = self._path.with_suffix(".new")
        try:
            draft.touch(mode=0o600)
            draft.write_bytes(content)
            draft.replace(self._path)
        except OSError as error:
            logger.warning("Counters of limits cannot be kept in %s: %s", self._path, error)
            return
        self._content = content
