"""Where the methods of Gemini's API are, on Google AI Studio and on Vertex AI.

References: https://ai.google.dev/api/generate-content#method:-models.generatecontent,
https://docs.cloud.google.com/vertex-ai/generative-ai/docs/model-reference/inference
"""

from __future__ import annotations

from urllib.parse import quote

from gateway.providers.catalogue import BY_NAME
from gateway.snapshot.types import TargetRecord

MODELS = "/models"
VERTEX_MODELS = "/publishers/google/models"


def is_vertex(target: TargetRecord) -> bool:
    """True for a model on Vertex AI."""
    return BY_NAME[target.kind].credential == "google"


def url_of(target: TargetRecord, method: str) -> str:
    """Return the address of a method of the target's model.

    A name with a slash has its collection with it: tunedModels/mine, endpoints/123.
    """
    name = quote(target.native_model, safe="/@")
    if "/" in name:
        return f"{target.base_url}/{name}:{method}"
    models = VERTEX_MODELS if is_vertex(target) else MODELS
    return f"{target.base_url}{models}/{name}:{method}"


def hidden_of(target: TargetRecord) -> tuple[str, ...]:
    """Return what refusals may name that is the operator's own affair: the project."""
    project = target.settings.get("project", "")
    return (project,) if project else ()
