"""Every endpoint at every kind of provider that has a way of its own to count for it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from tests.flows.charges import planned
from tests.flows.charges.planned import Means, Plan
from tests.flows.pairs.dialects import DIALECTS
from tests.flows.pairs.formats import FORMATS
from tests.flows.site import CREDENTIAL

TEXT = frozenset({"prompt", "completion"})
CACHED = TEXT | {"cached"}
WRITTEN = CACHED | {"cache_write"}
FOR_HOURS = WRITTEN | {"cache_write_1h"}


@dataclass(frozen=True, kw_only=True)
class Provider:
    """A kind of provider, and a model there."""

    kind: str
    # Behind the fake upstream's origin.
    path: str
    native_model: str
    means: Means
    credential: str = CREDENTIAL
    settings: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Row:
    """An endpoint at a provider. operation: what the endpoint's calls ask for."""

    endpoint: str
    operation: str
    plan: Plan
    provider: Provider

    @property
    def name(self) -> str:
        """The public name of the model, and the name of its provider."""
        name = f"charges-{self.endpoint}-{self.provider.kind}-{self.provider.native_model[:9]}"
        return "".join(char if char.isalnum() else "-" for char in name)


# What the dialects of chat count that count more than both kinds of tokens and what was cached.
UNITS_OF_CHAT = {
    "openrouter": WRITTEN,
    "anthropic": FOR_HOURS,
    "aws_bedrock": FOR_HOURS,
    "aws_bedrock_anthropic": FOR_HOURS,
    "gcp_vertex_anthropic": FOR_HOURS,
}
CHAT = tuple(
    Provider(
        kind=dialect.kind,
        path=dialect.path,
        native_model=dialect.native_model,
        means=Means(
            UNITS_OF_CHAT.get(dialect.kind, CACHED if dialect.has_cache else TEXT),
            reasons=True,
            tells_prompt=dialect.tells_prompt,
        ),
        credential=dialect.credential,
        settings=dialect.settings,
    )
    for dialect in DIALECTS
)


def like_openai(kind: str, native_model: str, means: Means, *, path: str = "") -> Provider:
    return Provider(kind=kind, path=path or f"/{kind}/v1", native_model=native_model, means=means)


ONE = Means(TEXT, many=False)
PROMPT = Means(frozenset({"prompt"}))
IMAGES = Means(frozenset({"image"}))
ROWS = (
    *(
        Row(form.name, "chat", planned.plan_conversation(form), provider)
        for form in FORMATS
        for provider in CHAT
    ),
    *(
        Row("completions", "completions", planned.plan_completion, provider)
        for provider in (
            like_openai("openai", "gpt-3.5-turbo-instruct", Means(TEXT)),
            like_openai("vllm", "text", Means(TEXT)),
            like_openai("mistral", "codestral", ONE),
            # Answered by the provider's chat.
            like_openai("deepseek", "deepseek-chat", ONE),
            Provider(
                kind="anthropic",
                path="/anthropic/v1",
                native_model="claude-sonnet-4-5",
                means=replace(ONE, tells_prompt=True),
            ),
        )
    ),
    *(
        Row("embeddings", "embeddings", planned.plan_embedding, like_openai(kind, "embed", PROMPT))
        for kind in ("openai", "mistral", "together")
    ),
    *(
        Row("moderations", "moderations", planned.plan_moderation, like_openai(kind, "m", PROMPT))
        for kind in ("openai", "openai_compatible")
    ),
    *(
        Row("rerank", "rerank", planned.plan_ranking, provider)
        for provider in (
            like_openai("openai_compatible", "rerank-v3.5", Means(frozenset({"search"}))),
            like_openai("together", "rerank", Means(frozenset({"search"}))),
            # It counts tokens alone.
            like_openai("vllm", "bge-reranker", PROMPT),
        )
    ),
    *(
        Row("images", "images", planned.plan_images, provider)
        for provider in (
            like_openai("openai", "dall-e-3", IMAGES),
            like_openai("openai", "gpt-image-1", Means(TEXT | {"image"})),
            like_openai("xai", "grok-image", IMAGES),
        )
    ),
)
# All other endpoints, and each dialect of chat with one of the formats.
SHORT = tuple(
    row
    for number, row in enumerate(ROWS)
    if row.operation != "chat" or number // len(CHAT) == number % len(CHAT) % len(FORMATS)
)
