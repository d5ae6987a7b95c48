"""Removes secrets from log lines."""

from __future__ import annotations

import logging
import re

_SECRET = re.compile(
    r"\b(?:sk|pk|gsk|xai|inv)-[\w-]{8,}"  # keys, ours and providers', and invitations
    r"|\b(?:hi-|inf_|bud_(?:client|admin)_)[\w-]{32,}"  # the other forms that ours have
    r"|(?i:\bbearer\s+)[^\s\"']+"
    r"|(?i:(?<=authorization: )|(?<=x-api-key: ))[^\s\"']+"
)
HIDDEN = "[hidden]"


def hide_secrets(text: str) -> str:
    """Return the text with everything that looks like a credential taken out."""
    return _SECRET.sub(HIDDEN, text)


class HideSecrets(logging.Filter):
    """Rewrites a record whose message or traceback holds something like a credential."""

    def filter(self, record: logging.LogRecord) -> bool:
        message = record.getMessage()
        shown = hide_secrets(message)
        if shown != message:
            record.msg, record.args = shown, ()
        if record.exc_info and not record.exc_text:
            record.exc_text = logging.Formatter().formatException(record.exc_info)
        if record.exc_text:
            record.exc_text = hide_secrets(record.exc_text)
        return True
