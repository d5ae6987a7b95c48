"""How requests about stored files can fail. Their part of gateway.core.errors."""

from __future__ import annotations

from gateway.core.errors import AdmissionError, NotFound, RequestError


class StorageQuotaExceeded(AdmissionError):
    code, should_retry = "storage_quota_exceeded", False
    meaning = "The file exceeds the storage limits of the workspace."


class FileExpired(NotFound):
    code, meaning = "file_expired", "The file has expired and was deleted."


class UnsupportedFileType(RequestError):
    status, code = 415, "unsupported_media_type"
    meaning = "The type of the file is not supported."


class FileRejected(RequestError):
    status, code = 422, "file_rejected"
    meaning = "The virus scanner of the installation rejected the file."
