"""Where log lines go, and the filter that removes secrets from them."""

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
# Everything that str.splitlines breaks a line at, with the spaces around it.
_LINE_ENDS = re.compile(r"\s*[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]+\s*")
# uvicorn gives them handlers of its own, which write text.
SERVER_LOGGERS = ("uvicorn", "uvicorn.error", "uvicorn.access")


def hide_secrets(text: str) -> str:
    """Return the text with everything that looks like a credential taken out."""
    return _SECRET.sub(HIDDEN, text)


def logging_config(level: str, form: str) -> dict[str, object]:
    """Return the configuration of logging. form: text or json."""
    loggers: dict[str, object] = {
        # Django would add a console of its own under DEBUG, and e-mail under nothing.
        "django": {"handlers": [], "propagate": True},
    }
    if form == "json":
        loggers |= {name: {"handlers": [], "propagate": True} for name in SERVER_LOGGERS}
    formatters: dict[str, object] = {
        "text": {
            "()": "gateway.config.logs.OneLine",
            "fmt": "{asctime} {levelname} {name}: {message}",
            "style": "{",
        },
        # It takes 5 MB to import.
        "json": {"()": "gateway.config.json_logs.make_formatter"},
    }
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "filters": {
            "limit_lines": {"()": "gateway.config.log_limits.LimitLines"},
            "hide_secrets": {"()": "gateway.config.logs.HideSecrets"},
            "shorten_refusals": {"()": "gateway.config.log_limits.ShortenRefusals"},
        },
        "formatters": {form: formatters[form]},
        "handlers": {
            "stderr": {
                "class": "logging.StreamHandler",
                "formatter": form,
                "filters": ["limit_lines", "hide_secrets", "shorten_refusals"],
            },
        },
        "root": {"handlers": ["stderr"], "level": level},
        "loggers": loggers,
    }


class OneLine(logging.Formatter):
    """Writes a message on one line, also that of a library which has several. Tracebacks follow."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 (logging's name)
        return _LINE_ENDS.sub(" ", super().formatMessage(record).strip())


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
