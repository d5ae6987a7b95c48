"""How the processors of a call can fail. Their part of gateway.core.errors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gateway.core.errors import PlatformError, RequestError


class LanguageRequired(RequestError):
    status, code = 422, "language_required"
    meaning = "A processor of the call needs inferada.language."


class LanguageNotSupported(RequestError):
    status, code = 422, "language_not_supported"
    meaning = "A processor does not support the language. See details.supported."

    @classmethod
    def of(
        cls,
        processor: str,
        language: str,
        supported: Iterable[str],
        *,
        param: str = "inferada.language",
    ) -> LanguageNotSupported:
        """Return the error of a processor that supports only these languages."""
        return cls(
            f"{processor} does not support the language {language[:64]}.",
            param=param,
            details={"processor": processor, "supported": sorted(supported)},
        )


class ProcessorRejected(RequestError):
    """What was found is named by its type or rule, never by its text."""

    status, code, should_retry = 422, "processor_policy_rejection", False
    meaning = "A processor rejected the request. See details.processor and details.reason."

    @classmethod
    def of(
        cls,
        processor: str,
        message: str,
        *,
        reason: str,
        param: str | None = None,
        found: Mapping[str, object] | None = None,
    ) -> ProcessorRejected:
        """reason: in one word. found: entity_types, or rule_ids."""
        details = {"processor": processor, "reason": reason, **(found or {})}
        return cls(message, param=param, details=details)


class UnscannableContent(RequestError):
    status, code, should_retry = 422, "unscannable_content", False
    meaning = "The request has content that a processor cannot read, such as an image or audio."


class ProcessorFailure(PlatformError):
    status, code, should_retry = 502, "processor_failure", False
    meaning = "A processor failed. Nothing that it had to check was passed on."
