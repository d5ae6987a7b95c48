"""The dialects of providers, each at the fake upstream, and what its scripts may be told."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.flows.aws import AWS_KEYS, HOSTED_OPENAI, HOSTED_TGI, REGION
from tests.flows.site import CREDENTIAL
from tests.flows.vertex import LOCATION, PARENT, PROJECT

CLAUDE_ON_BEDROCK = "eu.anthropic.claude-haiku-4-5-20251001-v1:0"


@dataclass(frozen=True)
class Dialect:
    """Where the fake upstream speaks it, and what its scripts may be told beside the usual."""

    name: str
    kind: str
    path: str
    native_model: str
    credential: str = CREDENTIAL
    settings: dict[str, str] = field(default_factory=dict)
    # Its word for an answer that was refused; empty: it has none.
    refusal: str = "content_filter"
    # Anthropic's: thinking that cannot be read, tokens written to the cache, citations.
    is_anthropics: bool = False
    # What its model refuses in a request that goes there as its caller wrote it.
    refused: frozenset[str] = frozenset()
    # False where usage does not say what was read from the cache.
    has_cache: bool = True
    # False where the arguments of a call are an object, which no limit can cut off.
    cuts_calls: bool = True

    @property
    def model(self) -> str:
        """The public name of its model."""
        return f"agreeing-{self.name}"


DIALECTS = (
    Dialect("chat", "openai_compatible", "/v1", "fake"),
    Dialect("openai", "openai", "/v1", "gpt-4.1"),
    Dialect("azure", "azure_openai", "/azure/openai", "gpt-4.1", settings={"resource": "fake"}),
    Dialect(
        "anthropic",
        "anthropic",
        "/anthropic/v1",
        "claude-haiku-4-5-20251001",
        is_anthropics=True,
        refusal="refusal",
        refused=frozenset({"effort"}),
    ),
    Dialect(
        "anthropic-on-vertex",
        "gcp_vertex_anthropic",
        "/v1/projects/p-7/locations/global",
        "claude-opus-5-5",
        settings={"project": "project-7"},
        is_anthropics=True,
        refusal="refusal",
        refused=frozenset({"temperature"}),
    ),
    Dialect(
        "anthropic-on-bedrock",
        "aws_bedrock_anthropic",
        "/bedrock",
        CLAUDE_ON_BEDROCK,
        settings={"region": REGION},
        is_anthropics=True,
        refusal="refusal",
        refused=frozenset({"effort"}),
    ),
    Dialect(
        "bedrock",
        "aws_bedrock",
        "/bedrock",
        CLAUDE_ON_BEDROCK,
        settings={"region": REGION},
        refusal="content_filtered",
    ),
    Dialect(
        "gemini", "google_ai_studio_gemini", "/gemini/v1beta", "gemini-2.5-flash", refusal="SAFETY"
    ),
    Dialect(
        "gemini-on-vertex",
        "gcp_vertex_gemini",
        f"/vertex{PARENT}",
        "gemini-2.5-flash",
        settings={"project": PROJECT, "location": LOCATION},
        refusal="SAFETY",
    ),
    Dialect("cohere", "cohere", "/cohere/v2", "command-a-reasoning-08-2025", refusal=""),
    Dialect("tgi", "tgi", "/tgi/v1", "tgi", refusal="", has_cache=False, cuts_calls=False),
    Dialect(
        "sagemaker",
        "aws_sagemaker",
        "/sagemaker",
        "on-openai/meta-llama/Llama-3",
        credential=AWS_KEYS,
        settings=HOSTED_OPENAI,
    ),
    Dialect(
        "tgi-on-sagemaker",
        "aws_sagemaker",
        "/sagemaker",
        "tgi-on-sagemaker/meta-llama/Llama-3",
        credential=AWS_KEYS,
        settings=HOSTED_TGI,
        refusal="",
        has_cache=False,
        cuts_calls=False,
    ),
)
