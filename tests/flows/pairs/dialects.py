"""The dialects of providers that the battery runs against, each at the fake upstream."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from tests.flows.aws import AWS_KEYS, HOSTED_OPENAI, HOSTED_TGI, REGION
from tests.flows.site import CREDENTIAL, Site
from tests.flows.transports import TRANSPORTS, add_provider, named
from tests.flows.vertex import LOCATION, PARENT, PROJECT


@dataclass(frozen=True)
class Dialect:
    """A kind of provider, and what its dialect can carry."""

    kind: str
    # Behind the fake upstream's origin.
    path: str
    native_model: str
    credential: str = CREDENTIAL
    settings: dict[str, str] = field(default_factory=dict)
    # What carries its signatures of reasoning, which go back to it: thoughts or calls of tools.
    signs: Literal["", "thoughts", "calls"] = ""
    has_cache: bool = True
    has_schema: bool = True
    # Its streams tell the counts of the prompt before the output.
    tells_prompt: bool = False
    has_documents: bool = True
    # What its streams never say, as the script's `plant` has it.
    nonsense: str = "%7B"
    # Its word for an answer that was refused; empty: it has none.
    refusal: str = "content_filter"

    @property
    def name(self) -> str:
        """Its kind, and what serves there where that may be this or that."""
        return "-".join(filter(None, (self.kind, self.settings.get("hosted_provider"))))

    @property
    def model(self) -> str:
        """The public name of its model."""
        return f"pairs-{self.name}"


DIALECTS = (
    Dialect("openai", "/v1", "gpt-4.1"),
    Dialect("openrouter", "/v1", "fake", signs="thoughts"),
    Dialect("mistral", "/mistral/v1", "mistral-large-latest", has_documents=False, refusal=""),
    Dialect(
        "anthropic",
        "/anthropic/v1",
        "claude-haiku-4-5-20251001",
        signs="thoughts",
        refusal="refusal",
        tells_prompt=True,
    ),
    Dialect(
        "aws_bedrock",
        "/bedrock",
        "eu.anthropic.claude-haiku-4-5-20251001-v1:0",
        settings={"region": REGION},
        signs="thoughts",
        nonsense="contentBlockDelta+%7B",
        refusal="content_filtered",
    ),
    Dialect(
        "aws_bedrock_anthropic",
        "/bedrock",
        "eu.anthropic.claude-haiku-4-5-20251001-v1:0",
        settings={"region": REGION},
        signs="thoughts",
        refusal="refusal",
        tells_prompt=True,
    ),
    Dialect(
        "gcp_vertex_anthropic",
        PARENT,
        "claude-haiku-4-5@20251001",
        settings={"project": PROJECT, "location": LOCATION},
        signs="thoughts",
        refusal="refusal",
        tells_prompt=True,
    ),
    Dialect(
        "google_ai_studio_gemini",
        "/gemini/v1beta",
        "gemini-3.8-flash",
        signs="calls",
        refusal="SAFETY",
        tells_prompt=True,
    ),
    Dialect(
        "gcp_vertex_gemini",
        f"/vertex{PARENT}",
        "gemini-3.8-flash",
        settings={"project": PROJECT, "location": LOCATION},
        signs="calls",
        refusal="SAFETY",
        tells_prompt=True,
    ),
    Dialect(
        "azure_openai",
        "/azure/openai",
        "gpt-4.1",
        settings={"resource": "fake"},
    ),
    Dialect("cohere", "/cohere/v2", "command-a-03-2025", has_documents=False, refusal=""),
    Dialect("tgi", "/tgi/v1", "tgi", has_cache=False, has_documents=False, refusal=""),
    Dialect(
        "aws_sagemaker",
        "/sagemaker",
        "on-openai/meta-llama/Llama-3",
        credential=AWS_KEYS,
        settings=HOSTED_OPENAI,
        signs="thoughts",
        has_documents=False,
    ),
    Dialect(
        "aws_sagemaker",
        "/sagemaker",
        "tgi-on-sagemaker/meta-llama/Llama-3",
        credential=AWS_KEYS,
        settings=HOSTED_TGI,
        has_cache=False,
        has_documents=False,
        refusal="",
    ),
)


def add_dialects(site: Site) -> None:
    """Add a provider and a model of each dialect by each transport."""
    for dialect in DIALECTS:
        for transport in TRANSPORTS:
            provider = add_provider(
                site,
                f"{dialect.model}-provider",
                transport=transport,
                kind=dialect.kind,
                base_url=f"{site.upstream.origin}{dialect.path}",
                credential=dialect.credential,
                settings=dialect.settings,
            )
            site.add_model(
                named(dialect.model, transport),
                provider=provider,
                native_model=dialect.native_model,
                max_output_tokens=16_384,
                supports_vision=True,
                supports_pdf=dialect.has_documents,
            )
