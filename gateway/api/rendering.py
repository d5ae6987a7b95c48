"""How the views encode what they answer: structs of gateway.api.schemas, as JSON."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from rest_framework.renderers import BaseRenderer


class StructRenderer(BaseRenderer):
    media_type = "application/json"
    format = "json"
    charset = None

    def render(
        self,
        data: object,
        accepted_media_type: str | None = None,
        renderer_context: Mapping[str, object] | None = None,
    ) -> bytes:
        return b"" if data is None else msgspec.json.encode(data, enc_hook=str)
