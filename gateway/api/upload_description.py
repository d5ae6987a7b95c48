"""POST /files in the OpenAPI document: an upload is read by no view (gateway.api.uploads)."""

from __future__ import annotations

from gateway.api.schemas.anthropic_files import AnthropicFile
from gateway.api.schemas.files import FileObject, FileUpload
from gateway.core.json_types import JsonObject
from gateway.endpoints.json_schema import reference
from gateway.http.headers import IDEMPOTENCY_KEY


def describe_upload(scope: str) -> JsonObject:
    """Return the operation."""
    answers = [reference(FileObject), reference(AnthropicFile)]
    return {
        "operationId": "uploadFile",
        "summary": "Upload a file. It is encrypted and written to storage as it arrives.",
        "tags": ["files"],
        "security": [{"key": [scope]}],
        "parameters": [
            {
                "name": "Idempotency-Key",
                "in": "header",
                "required": False,
                "description": "Makes retries safe: the same key returns the same file for 24 h.",
                "schema": {"type": "string", "pattern": f"^{IDEMPOTENCY_KEY.pattern}$"},
            },
            {
                "name": "anthropic-version",
                "in": "header",
                "required": False,
                "description": "The file has the format of Anthropic's API. purpose is user_data"
                " unless it is set.",
                "schema": {"type": "string"},
            },
        ],
        "requestBody": {
            "required": True,
            "content": {"multipart/form-data": {"schema": reference(FileUpload)}},
        },
        "responses": {
            "200": {
                "description": "The file.",
                "content": {"application/json": {"schema": {"anyOf": answers}}},
            }
        },
    }
